//! Counting statements, for measurements.
//!
//! rusqlite changed how it traces within the range that this crate accepts. The names in `older`
//! stand in for those that an older release lacks: an inherent method is preferred to one of a
//! trait, and a glob import of a function to a name outside of it.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use crate::connect::options::Settings;
#[allow(unused_imports, reason = "only an older rusqlite needs them")]
use older::{Trace as _, TraceEvent, TraceEventCodes, TraceV2 as _};

thread_local! {
    /// The counter of this thread's connection, for a rusqlite that traces with a plain function.
    static COUNTER: RefCell<Option<Arc<AtomicU64>>> = const { RefCell::new(None) };
}

/// Counts what this connection runs from now on, if the settings say so. Call it on the thread
/// that uses the connection.
pub(crate) fn count(connection: &mut Connection, settings: &Settings) -> rusqlite::Result<()> {
    #[allow(unused_imports, reason = "an older rusqlite has other names here")]
    use rusqlite::trace::*;

    let Some(counter) = settings.statement_counter.clone() else { return Ok(()) };
    COUNTER.set(Some(Arc::clone(&counter)));
    let started = move |event: TraceEvent<'_>| {
        if matches!(event, TraceEvent::Stmt(..)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    };
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(started))
}

#[allow(dead_code, reason = "only an older rusqlite needs it")]
fn count_one(_statement: &str) {
    COUNTER.with_borrow(|counter| {
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
}

#[allow(dead_code, reason = "only an older rusqlite needs it")]
mod older {
    use std::marker::PhantomData;

    use rusqlite::Connection;

    pub(super) enum TraceEvent<'a> {
        Stmt(PhantomData<&'a ()>),
    }

    pub(super) struct TraceEventCodes;

    impl TraceEventCodes {
        pub(super) const SQLITE_TRACE_STMT: Self = Self;
    }

    pub(super) trait TraceV2 {
        fn trace_v2<F>(
            &mut self,
            codes: TraceEventCodes,
            traced: Option<F>,
        ) -> rusqlite::Result<()>
        where
            F: FnMut(TraceEvent<'_>) + Send + 'static;
    }

    impl TraceV2 for Connection {
        fn trace_v2<F>(&mut self, _codes: TraceEventCodes, _: Option<F>) -> rusqlite::Result<()>
        where
            F: FnMut(TraceEvent<'_>) + Send + 'static,
        {
            self.trace(Some(super::count_one));
            Ok(())
        }
    }

    pub(super) trait Trace {
        fn trace(&mut self, traced: Option<fn(&str)>);
    }

    impl Trace for Connection {
        fn trace(&mut self, _every_release_has_one_or_the_other: Option<fn(&str)>) {}
    }
}
