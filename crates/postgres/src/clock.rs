//! The server's clock, as a node estimates it.
//!
//! The server itself decides about leases and visibility. A node needs the time to compute when a
//! timer is due and how long to sleep: it adds its own monotonic clock to what the server sent. A
//! wrong wall clock of a node therefore does no harm.
//!
//! A response proves only that the server's clock showed the reported time at some moment between
//! the request and the response. Each one thus gives an interval for the difference of the two
//! clocks, and the node keeps what all of them have in common. [`now_ms`](Clock::now_ms) is its
//! late end: no timer that is computed from it is due too early. A sleep lasts until its early end:
//! when it returns, the server's clock has reached the time too.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use duroxide_core::clock::{Clock, ClockSleep};
use tokio::time::Instant;

/// Two clocks drift apart by at most this share of the time that has passed.
const DRIFT: f64 = 0.000_5;

/// Estimates the server's time.
#[derive(Debug)]
pub(crate) struct DatabaseClock {
    /// The node's monotonic clock counts from here.
    origin: Instant,
    offset: Mutex<Offset>,
}

/// The time of the server minus that of the node's monotonic clock, in milliseconds, at `at`.
#[derive(Debug, Clone, Copy)]
struct Offset {
    at: Instant,
    earliest: f64,
    latest: f64,
}

impl Offset {
    /// Wider, by what the clocks may have drifted apart.
    fn aged(self, now: Instant) -> Self {
        let drift = ms(now.saturating_duration_since(self.at)) * DRIFT;
        Self { at: now, earliest: self.earliest - drift, latest: self.latest + drift }
    }

    /// What both allow; the newer one if they contradict each other, because the server's clock was
    /// set.
    fn refined(self, newer: Self) -> Self {
        let earliest = self.earliest.max(newer.earliest);
        let latest = self.latest.min(newer.latest);
        if earliest <= latest { Self { at: newer.at, earliest, latest } } else { newer }
    }
}

fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time before 1970 becomes zero"
)]
fn whole_ms(time: f64) -> u64 {
    time as u64
}

#[expect(clippy::cast_precision_loss, reason = "a time in milliseconds has far fewer bits")]
fn as_ms(time: u64) -> f64 {
    time as f64
}

impl DatabaseClock {
    /// A clock that knows one response: the server's time, and when it was requested.
    pub(crate) fn new(requested: Instant, server_ms: u64) -> Self {
        let origin = requested;
        Self { origin, offset: Mutex::new(Self::observed(origin, requested, server_ms)) }
    }

    /// The server sent its time in the response to a request. True if its clock was set back.
    pub(crate) fn observe(&self, requested: Instant, server_ms: u64) -> bool {
        let newer = Self::observed(self.origin, requested, server_ms);
        let mut offset = self.lock();
        let older = offset.aged(newer.at);
        *offset = older.refined(newer);
        newer.latest < older.earliest
    }

    fn observed(origin: Instant, requested: Instant, server_ms: u64) -> Offset {
        let now = Instant::now();
        let since_origin = |at: Instant| ms(at.saturating_duration_since(origin));
        // The server's time is a little later than the whole milliseconds that it sends.
        let (from, to) = (as_ms(server_ms), as_ms(server_ms.saturating_add(1)));
        Offset { at: now, earliest: from - since_origin(now), latest: to - since_origin(requested) }
    }

    fn lock(&self) -> MutexGuard<'_, Offset> {
        self.offset.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at_now(&self) -> (f64, Offset) {
        let now = Instant::now();
        (ms(now.saturating_duration_since(self.origin)), self.lock().aged(now))
    }

    /// The server's clock shows at least this.
    pub(crate) fn surely_ms(&self) -> u64 {
        let (since_origin, offset) = self.at_now();
        whole_ms(since_origin + offset.earliest)
    }
}

impl Clock for DatabaseClock {
    fn now_ms(&self) -> u64 {
        let (since_origin, offset) = self.at_now();
        whole_ms((since_origin + offset.latest).ceil())
    }

    fn sleep_until(&self, due_ms: u64) -> ClockSleep<'_> {
        Box::pin(async move {
            // A response may correct the estimate during the sleep, hence the loop.
            loop {
                let left = due_ms.saturating_sub(self.surely_ms());
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

    async fn pass(ms: u64) {
        tokio::time::advance(Duration::from_millis(ms)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn time_continues_from_the_observed_time() {
        let clock = DatabaseClock::new(Instant::now(), 1000);
        pass(250).await;
        assert!((1250..=1252).contains(&clock.now_ms()), "{}", clock.now_ms());
        clock.sleep_until(2000).await;
        assert!(clock.surely_ms() >= 2000 && clock.now_ms() >= 2000);
    }

    /// A response that took a second once counted as if it had come at once: the node's time was a
    /// second late, and a timer of four seconds was due after three.
    #[tokio::test(start_paused = true)]
    async fn a_slow_response_does_not_set_the_clock_back() {
        let clock = DatabaseClock::new(Instant::now(), 1000);
        let requested = Instant::now();
        pass(1000).await;
        // The server read its clock at once and sent the response a second later.
        clock.observe(requested, 1000);
        assert!(clock.now_ms() >= 2000, "{}", clock.now_ms());
        assert!(clock.now_ms() <= 2003, "{}", clock.now_ms());
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_response_may_be_slow() {
        let requested = Instant::now();
        pass(1000).await;
        // The server read its clock at some moment of this second.
        let clock = DatabaseClock::new(requested, 1000);
        assert_eq!((clock.surely_ms(), clock.now_ms()), (1000, 2001));
        clock.observe(Instant::now(), 1400);
        assert_eq!((clock.surely_ms(), clock.now_ms()), (1400, 1401));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_is_followed() {
        let clock = DatabaseClock::new(Instant::now(), 100_000);
        for (server_ms, is_back) in [(70_000, true), (500_000, false)] {
            assert_eq!(clock.observe(Instant::now(), server_ms), is_back);
            assert_eq!((clock.surely_ms(), clock.now_ms()), (server_ms, server_ms + 1));
        }
    }
}
