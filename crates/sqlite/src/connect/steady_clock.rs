//! A clock that is never set back.
//!
//! Messages are visible and leases last until a stored time. If the clock of the machine is set
//! back by an hour, everything that is stored would wait for an hour, and so would the leases of
//! dead nodes. This clock therefore adds what the other one lost, for as long as the process runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use duroxide_core::clock::{Clock, ClockSleep, SystemClock, millis};

use crate::limits;

/// The clock of a provider, over the clock of its settings.
#[derive(Debug)]
pub(crate) struct SteadyClock {
    inner: Arc<dyn Clock>,
    /// Whether the inner clock is the machine's, which moves as time passes.
    is_machine: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// The inner clock at the last reading, and when that was.
    inner_ms: u64,
    read_at: Instant,
    /// What the inner clock has lost by being set back.
    lost_ms: u64,
    /// The last time that was returned.
    shown_ms: u64,
}

impl SteadyClock {
    /// Over the machine's clock.
    pub(crate) fn of_machine() -> Self {
        Self::new(Arc::new(SystemClock), true)
    }

    /// Over a clock of the program, which may stand still.
    pub(crate) fn over(inner: Arc<dyn Clock>) -> Self {
        Self::new(inner, false)
    }

    fn new(inner: Arc<dyn Clock>, is_machine: bool) -> Self {
        let inner_ms = inner.now_ms();
        let read_at = Instant::now();
        let state = State { inner_ms, read_at, lost_ms: 0, shown_ms: inner_ms };
        Self { inner, is_machine, state: Mutex::new(state) }
    }

    /// The time of this clock and that of the inner one, of the same moment.
    fn read(&self) -> (u64, u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, so that readings are in order.
        let (inner_ms, read_at) = (self.inner.now_ms(), Instant::now());
        let (passed, tolerance) = match self.is_machine {
            true => (millis(read_at - state.read_at), millis(limits::CLOCK_DRIFT_MAX)),
            false => (0, 0),
        };
        let expected = state.inner_ms.saturating_add(passed);
        if inner_ms.saturating_add(tolerance) < expected {
            state.lost_ms = state.lost_ms.saturating_add(expected - inner_ms);
            tracing::warn!(
                target: "duroxide::providers::sqlite",
                by_ms = expected - inner_ms,
                "the clock was set back; the store goes on with its own time"
            );
        }
        (state.inner_ms, state.read_at) = (inner_ms, read_at);
        state.shown_ms = state.shown_ms.max(inner_ms.saturating_add(state.lost_ms));
        (state.shown_ms, inner_ms)
    }
}

impl Clock for SteadyClock {
    fn now_ms(&self) -> u64 {
        self.read().0
    }

    fn sleep_until(&self, due_ms: u64) -> ClockSleep<'_> {
        Box::pin(async move {
            loop {
                let (now, inner_ms) = self.read();
                let left = due_ms.saturating_sub(now);
                if left == 0 {
                    return;
                }
                match self.is_machine {
                    true => tokio::time::sleep(Duration::from_millis(left)).await,
                    // A move since the reading ends the sleep at once.
                    false => self.inner.sleep_or_move(inner_ms.saturating_add(left)).await,
                }
            }
        })
    }
}
