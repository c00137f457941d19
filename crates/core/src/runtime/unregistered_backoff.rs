//! How long work waits for a node that has its handler.

use std::time::Duration;

/// Doublings stop here: with the default base the next one would pass the longest delay.
const DOUBLINGS_MAX: u32 = 6;

/// What happens to work whose handler a node does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnregisteredWork {
    /// The store leaves it to nodes that have the handler, and it waits while there is none. A
    /// store that cannot filter by handlers falls back to [`Backoff`](Self::Backoff).
    Wait,
    /// The node fetches it, releases it with [`UnregisteredBackoffConfig`], and fails it as poison
    /// when it was fetched too often, as 0.1.x does.
    Backoff,
}

/// Delays for work whose handler this node does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnregisteredBackoffConfig {
    /// Delay after the first attempt.
    pub base_delay: Duration,
    /// Longest delay.
    pub max_delay: Duration,
}

impl Default for UnregisteredBackoffConfig {
    fn default() -> Self {
        Self { base_delay: Duration::from_secs(1), max_delay: Duration::from_secs(60) }
    }
}

impl UnregisteredBackoffConfig {
    /// Delay after this attempt, counted from 1; it doubles with each.
    pub fn delay(&self, attempt_count: u32) -> Duration {
        let doublings = attempt_count.saturating_sub(1).min(DOUBLINGS_MAX);
        self.base_delay.saturating_mul(1 << doublings).min(self.max_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_a_minute() {
        let backoff = UnregisteredBackoffConfig::default();
        let seconds: Vec<_> = (0..=9).map(|attempt| backoff.delay(attempt).as_secs()).collect();
        assert_eq!(seconds, [1, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(backoff.delay(u32::MAX).as_secs(), 60);
    }

    #[test]
    fn doubling_stops_after_six_times_and_never_overflows() {
        let hour = Duration::from_secs(3600);
        let backoff =
            UnregisteredBackoffConfig { base_delay: Duration::from_secs(1), max_delay: hour };
        assert_eq!(backoff.delay(100), Duration::from_secs(64));
        let backoff =
            UnregisteredBackoffConfig { base_delay: Duration::MAX, max_delay: Duration::MAX };
        assert_eq!(backoff.delay(9), Duration::MAX);
    }
}
