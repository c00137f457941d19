//! Further attempts of a call that failed.

use std::time::Duration;

use crate::model::{BackoffStrategy, RetryPolicy};

/// How often and when a failed call is attempted again.
///
/// An error can overrule it: one that is [never worth retrying](super::RetryHint::Never) ends the
/// call, and one that [names a wait](super::RetryHint::After) lengthens the pause.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use std::time::Duration;
///
/// use duroxide::typed::Retry;
///
/// let retry = Retry::new(8)
///     .with_exponential_backoff(Duration::from_secs(1), Duration::from_secs(60))
///     .with_jitter(0.2)
///     .with_deadline(Duration::from_secs(600))
///     .with_timeouts_retried();
/// assert_eq!(retry.attempts_max(), 8);
/// ```
#[derive(Debug, Clone)]
#[must_use = "a policy does nothing until a call has it"]
pub struct Retry {
    attempts_max: u32,
    backoff: BackoffStrategy,
    jitter: f64,
    deadline: Option<Duration>,
    attempt_timeout: Option<Duration>,
    is_timeout_retried: bool,
}

impl Retry {
    /// At most this many attempts in all, with pauses that double from 100 ms to 30 s. Zero counts
    /// as one.
    pub const fn new(attempts_max: u32) -> Self {
        let backoff = BackoffStrategy::Exponential {
            base: Duration::from_millis(100),
            multiplier: 2.0,
            max: Duration::from_secs(30),
        };
        let attempts_max = if attempts_max == 0 { 1 } else { attempts_max };
        Self {
            attempts_max,
            backoff,
            jitter: 0.0,
            deadline: None,
            attempt_timeout: None,
            is_timeout_retried: false,
        }
    }

    /// Attempts without an end, except by a deadline or an error that ends them.
    pub const fn unlimited() -> Self {
        Self::new(u32::MAX)
    }

    /// Sets the pauses between attempts.
    #[must_use = "returns the changed policy"]
    pub const fn with_backoff(mut self, backoff: BackoffStrategy) -> Self {
        self.backoff = backoff;
        self
    }

    /// Pauses that double from `base` to `max`.
    #[must_use = "returns the changed policy"]
    pub const fn with_exponential_backoff(self, base: Duration, max: Duration) -> Self {
        self.with_backoff(BackoffStrategy::Exponential { base, multiplier: 2.0, max })
    }

    /// Pauses of the same length.
    #[must_use = "returns the changed policy"]
    pub const fn with_fixed_backoff(self, delay: Duration) -> Self {
        self.with_backoff(BackoffStrategy::Fixed { delay })
    }

    /// Shortens every pause by a part of up to `fraction` of it, from 0 to 1, so that calls that
    /// failed together do not come back together. The part depends on the instance, the call and
    /// the attempt: a replay computes the same.
    #[must_use = "returns the changed policy"]
    pub const fn with_jitter(mut self, fraction: f64) -> Self {
        self.jitter = fraction;
        self
    }

    /// Ends the call when it has taken this long over all attempts and pauses.
    #[must_use = "returns the changed policy"]
    pub const fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Limits each attempt. A timeout of the call itself comes first.
    #[must_use = "returns the changed policy"]
    pub const fn with_attempt_timeout(mut self, limit: Duration) -> Self {
        self.attempt_timeout = Some(limit);
        self
    }

    /// Makes a timeout of an attempt a failure that is retried. Without this a timeout ends the
    /// call, as it does with a [`RetryPolicy`].
    #[must_use = "returns the changed policy"]
    pub const fn with_timeouts_retried(mut self) -> Self {
        self.is_timeout_retried = true;
        self
    }

    /// The number of attempts in all.
    pub const fn attempts_max(&self) -> u32 {
        self.attempts_max
    }

    /// The limit over all attempts and pauses.
    pub const fn deadline(&self) -> Option<Duration> {
        self.deadline
    }

    /// The limit of each attempt.
    pub const fn attempt_timeout(&self) -> Option<Duration> {
        self.attempt_timeout
    }

    /// Whether a timeout of an attempt is retried.
    pub const fn is_timeout_retried(&self) -> bool {
        self.is_timeout_retried
    }

    /// The pause after failed attempt number `attempt`, counted from 1. `position` identifies the
    /// call: equal positions have equal pauses.
    pub fn delay(&self, attempt: u32, position: u64) -> Duration {
        let delay = self.backoff.delay_for_attempt(attempt);
        // Also 0 if it is not a number.
        let fraction = if self.jitter > 0.0 { self.jitter.min(1.0) } else { 0.0 };
        if fraction == 0.0 {
            return delay;
        }
        let random = mixed(position.wrapping_add(u64::from(attempt)));
        // The upper 53 bits: all that fit into the fraction of a float.
        #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
        let part = (random >> 11) as f64 / (1_u64 << 53) as f64;
        delay.mul_f64(1.0 - fraction * part)
    }
}

impl From<RetryPolicy> for Retry {
    /// The same attempts, pauses and timeout; a timeout ends the call.
    fn from(policy: RetryPolicy) -> Self {
        let retry = Self::new(policy.max_attempts).with_backoff(policy.backoff);
        Self { attempt_timeout: policy.timeout, ..retry }
    }
}

/// Spreads the bits of a number (the finalizer of SplitMix64). Pauses depend on it: it must not
/// change.
fn mixed(mut bits: u64) -> u64 {
    bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn jitter_shortens_pauses_by_at_most_its_part_and_differs_by_position() {
        let retry = Retry::new(9).with_fixed_backoff(SECOND).with_jitter(0.5);
        let delays: Vec<Duration> = (0..100).map(|position| retry.delay(1, position)).collect();
        assert!(delays.iter().all(|delay| (SECOND / 2..=SECOND).contains(delay)), "{delays:?}");
        let shortest = delays.iter().min().unwrap();
        let longest = delays.iter().max().unwrap();
        assert!(*longest - *shortest > SECOND / 3, "{shortest:?} to {longest:?}");
        assert_eq!(retry.delay(1, 7), retry.delay(1, 7));
        assert_ne!(retry.delay(1, 7), retry.delay(2, 7));
    }

    #[test]
    fn a_jitter_that_is_no_fraction_is_harmless() {
        let retry = |jitter| Retry::new(2).with_fixed_backoff(SECOND).with_jitter(jitter);
        assert_eq!(retry(f64::NAN).delay(1, 3), SECOND);
        assert_eq!(retry(-1.0).delay(1, 3), SECOND);
        assert!(retry(f64::INFINITY).delay(1, 3) <= SECOND);
    }

    #[test]
    fn an_old_policy_keeps_its_meaning() {
        let policy = RetryPolicy::new(4).with_timeout(SECOND);
        let retry = Retry::from(policy.clone());
        assert_eq!((retry.attempts_max(), retry.attempt_timeout()), (4, Some(SECOND)));
        assert!(!retry.is_timeout_retried());
        for attempt in 1..5 {
            assert_eq!(retry.delay(attempt, 99), policy.delay_for_attempt(attempt));
        }
    }

    #[test]
    fn recorded_pauses_do_not_change_between_releases() {
        let retry = Retry::new(2).with_fixed_backoff(SECOND).with_jitter(1.0);
        let millis: Vec<u128> = (1..4).map(|n| retry.delay(n, 42).as_millis()).collect();
        assert_eq!(millis, [271, 18, 31]);
    }
}
