//! Counting statements, for measurements.

use std::sync::atomic::Ordering;

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use crate::connect::options::Settings;

/// Counts what this connection runs from now on, if the settings say so.
pub(crate) fn count(connection: &mut Connection, settings: &Settings) -> rusqlite::Result<()> {
    let Some(counter) = settings.statement_counter.clone() else { return Ok(()) };
    let started = move |event: TraceEvent<'_>| {
        if matches!(event, TraceEvent::Stmt(..)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    };
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(started))
}
