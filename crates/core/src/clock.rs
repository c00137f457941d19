//! Time as a value, so that tests and simulations can move it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

/// A sleep of a [`Clock`].
pub type ClockSleep<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Reads the time and sleeps until a time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;

    /// Returns when `now_ms() >= due_ms`.
    fn sleep_until(&self, due_ms: u64) -> ClockSleep<'_>;

    /// Like [`sleep_until`](Self::sleep_until), but may return earlier if the clock is moved.
    fn sleep_or_move(&self, due_ms: u64) -> ClockSleep<'_> {
        self.sleep_until(due_ms)
    }
}

/// `duration` in whole milliseconds, as large as a `u64` holds.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the machine's clock")]
    fn now_ms(&self) -> u64 {
        // A clock before 1970 reads as zero: leases then look expired, which only costs a retry.
        SystemTime::now().duration_since(UNIX_EPOCH).map(millis).unwrap_or(0)
    }

    fn sleep_until(&self, due_ms: u64) -> ClockSleep<'_> {
        Box::pin(async move {
            // The wall clock may be set back during the sleep, hence the loop.
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

/// A clock that moves only by its methods.
#[derive(Debug)]
pub struct ManualClock {
    now: watch::Sender<u64>,
}

impl ManualClock {
    /// A clock that shows `now_ms`.
    pub fn new(now_ms: u64) -> Self {
        Self { now: watch::Sender::new(now_ms) }
    }

    /// Moves the clock forward and wakes the sleepers that are due.
    pub fn advance(&self, by: Duration) {
        self.now.send_modify(|now| *now = now.saturating_add(millis(by)));
    }

    /// Sets the clock, also backwards.
    pub fn set(&self, now_ms: u64) {
        self.now.send_replace(now_ms);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> u64 {
        *self.now.borrow()
    }

    fn sleep_until(&self, due_ms: u64) -> ClockSleep<'_> {
        let mut now = self.now.subscribe();
        Box::pin(async move {
            // The sender lives in `self`, so waiting cannot fail while we hold the borrow.
            let reached = now.wait_for(|now| *now >= due_ms).await;
            debug_assert!(reached.is_ok(), "the clock outlives its sleepers");
        })
    }

    fn sleep_or_move(&self, due_ms: u64) -> ClockSleep<'_> {
        let mut now = self.now.subscribe();
        Box::pin(async move {
            if *now.borrow_and_update() < due_ms {
                let moved = now.changed().await;
                debug_assert!(moved.is_ok(), "the clock outlives its sleepers");
            }
        })
    }
}
