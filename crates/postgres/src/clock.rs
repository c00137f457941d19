//! The clock of the database, as far as a node knows it.
//!
//! Leases and visibility are judged within the database. A node needs the time to say when a timer
//! is due and how long to sleep; it reckons from the last time that the database told, by a clock
//! of its own that nobody can set. A node whose wall clock is wrong does no harm.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use duroxide_core::clock::{Clock, ClockSleep, millis};
use tokio::time::Instant;

/// A told time is worth a correction if it differs by more than this.
const SLACK_MS: u64 = 5;

/// Reckons the time of the database.
#[derive(Debug)]
pub(crate) struct DatabaseClock {
    told: Mutex<Told>,
}

#[derive(Debug, Clone, Copy)]
struct Told {
    at: Instant,
    ms: u64,
}

impl Told {
    fn now_ms(&self) -> u64 {
        self.ms.saturating_add(millis(self.at.elapsed()))
    }
}

impl DatabaseClock {
    /// A clock that was told the time just now.
    pub(crate) fn new(now_ms: u64) -> Self {
        Self { told: Mutex::new(Told { at: Instant::now(), ms: now_ms }) }
    }

    /// The database says what time it is.
    pub(crate) fn tell(&self, now_ms: u64) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        // The answer was under way for a while, so that a small difference means nothing, and a
        // clock that does not jump is worth more than one that is right to the millisecond.
        if told.now_ms().abs_diff(now_ms) > SLACK_MS {
            *told = Told { at: Instant::now(), ms: now_ms };
        }
    }
}

impl Clock for DatabaseClock {
    fn now_ms(&self) -> u64 {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).now_ms()
    }

    fn sleep_until(&self, due_ms: u64) -> ClockSleep<'_> {
        Box::pin(async move {
            // The database may correct us while we wait, hence the loop.
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
    async fn time_goes_on_from_what_was_told() {
        let clock = DatabaseClock::new(1000);
        tokio::time::advance(Duration::from_millis(250)).await;
        assert_eq!(clock.now_ms(), 1250);
        clock.tell(1252);
        assert_eq!(clock.now_ms(), 1250, "a small difference is none");
        clock.tell(5000);
        assert_eq!(clock.now_ms(), 5000);
        clock.sleep_until(6000).await;
        assert!(clock.now_ms() >= 6000);
    }
}
