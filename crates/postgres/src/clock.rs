//! The server's clock, as a node estimates it.
//!
//! The server itself decides about leases and visibility. A node needs the time to compute when a
//! timer is due and how long to sleep: it adds its own monotonic clock to the last time that the
//! server sent. A wrong wall clock of a node therefore does no harm.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use duroxide_core::clock::{Clock, ClockSleep, millis};
use tokio::time::Instant;

/// The estimate changes if the observed time differs by more than this.
const SLACK_MS: u64 = 5;

/// Estimates the server's time.
#[derive(Debug)]
pub(crate) struct DatabaseClock {
    observed: Mutex<Observed>,
}

#[derive(Debug, Clone, Copy)]
struct Observed {
    at: Instant,
    ms: u64,
}

impl Observed {
    fn now_ms(&self) -> u64 {
        self.ms.saturating_add(millis(self.at.elapsed()))
    }
}

impl DatabaseClock {
    /// A clock that observed the time just now.
    pub(crate) fn new(now_ms: u64) -> Self {
        Self { observed: Mutex::new(Observed { at: Instant::now(), ms: now_ms }) }
    }

    /// The server sent its time.
    pub(crate) fn observe(&self, now_ms: u64) {
        let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        // The response took a while to arrive, so that a small difference means nothing. A clock
        // that does not jump is worth more than one that is right to the millisecond.
        if observed.now_ms().abs_diff(now_ms) > SLACK_MS {
            *observed = Observed { at: Instant::now(), ms: now_ms };
        }
    }
}

impl Clock for DatabaseClock {
    fn now_ms(&self) -> u64 {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner).now_ms()
    }

    fn sleep_until(&self, due_ms: u64) -> ClockSleep<'_> {
        Box::pin(async move {
            // A response may correct the estimate during the sleep, hence the loop.
            loop {
                let left = due_ms.saturating_sub(self.now_ms());
                if left == 0 {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(left)).await;
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_continues_from_the_observed_time() {
        let clock = DatabaseClock::new(1000);
        tokio::time::advance(Duration::from_millis(250)).await;
        assert_eq!(clock.now_ms(), 1250);
        clock.observe(1252);
        assert_eq!(clock.now_ms(), 1250, "a small difference changes nothing");
        clock.observe(5000);
        assert_eq!(clock.now_ms(), 5000);
        clock.sleep_until(6000).await;
        assert!(clock.now_ms() >= 6000);
    }
}
