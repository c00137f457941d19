//! How often a failing activity is retried, and at which intervals.

use std::time::Duration;

/// How long to wait between attempts.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use std::time::Duration;
///
/// use duroxide::model::BackoffStrategy;
///
/// let (base, max) = (Duration::from_secs(1), Duration::from_secs(5));
/// let doubling = BackoffStrategy::Exponential { base, multiplier: 2.0, max };
/// let pauses = [1, 2, 3, 4].map(|attempt| doubling.delay_for_attempt(attempt).as_secs());
/// assert_eq!(pauses, [1, 2, 4, 5]);
/// ```
#[derive(Debug, Clone)]
pub enum BackoffStrategy {
    /// Not at all.
    None,
    /// Always the same.
    Fixed {
        /// The wait.
        delay: Duration,
    },
    /// Longer by the same amount each time.
    Linear {
        /// Wait after the first failure, and step.
        base: Duration,
        /// Upper bound.
        max: Duration,
    },
    /// Longer by a factor each time.
    Exponential {
        /// Wait after the first failure.
        base: Duration,
        /// Factor.
        multiplier: f64,
        /// Upper bound.
        max: Duration,
    },
}

impl Default for BackoffStrategy {
    fn default() -> Self {
        Self::Exponential {
            base: Duration::from_millis(100),
            multiplier: 2.0,
            max: Duration::from_secs(30),
        }
    }
}

impl BackoffStrategy {
    /// The wait after failed attempt number `attempt`, counted from 1.
    pub fn delay_for_attempt(&self, attempt: u32) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Fixed { delay } => *delay,
            Self::Linear { base, max } => base.saturating_mul(attempt).min(*max),
            Self::Exponential { base, multiplier, max } => {
                exponential(*base, *multiplier, attempt).min(*max)
            }
        }
    }
}

fn exponential(base: Duration, multiplier: f64, attempt: u32) -> Duration {
    let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
    #[expect(clippy::cast_precision_loss, reason = "a wait needs no nanosecond precision")]
    let nanos = base.as_nanos() as f64 * multiplier.powi(exponent);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates: negative and NaN become 0, too large becomes u64::MAX"
    )]
    Duration::from_nanos(nanos as u64)
}

/// A retry policy for one activity.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use std::time::Duration;
///
/// use duroxide::OrchestrationContext;
/// use duroxide::model::RetryPolicy;
///
/// async fn order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
///     let policy = RetryPolicy::new(5).with_timeout(Duration::from_secs(30));
///     ctx.schedule_activity_with_retry("Charge", order, policy).await
/// }
/// ```
#[derive(Debug, Clone)]
#[must_use = "a policy does nothing until a call has it"]
pub struct RetryPolicy {
    /// Attempts in all, at least 1.
    pub max_attempts: u32,
    /// Wait between attempts.
    pub backoff: BackoffStrategy,
    /// Limit for each attempt; reaching it ends the whole loop.
    pub timeout: Option<Duration>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { max_attempts: 3, backoff: BackoffStrategy::default(), timeout: None }
    }
}

impl RetryPolicy {
    /// A policy with `max_attempts` attempts and the default backoff.
    ///
    /// # Panics
    /// When `max_attempts` is zero.
    pub fn new(max_attempts: u32) -> Self {
        assert!(max_attempts >= 1, "max_attempts must be at least 1");
        Self { max_attempts, ..Self::default() }
    }

    /// Limits each attempt.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Older spelling of [`with_timeout`](Self::with_timeout).
    #[doc(hidden)]
    pub fn with_total_timeout(self, timeout: Duration) -> Self {
        self.with_timeout(timeout)
    }

    /// Sets the wait between attempts.
    pub fn with_backoff(mut self, backoff: BackoffStrategy) -> Self {
        self.backoff = backoff;
        self
    }

    /// The wait after failed attempt number `attempt`, counted from 1.
    pub fn delay_for_attempt(&self, attempt: u32) -> Duration {
        self.backoff.delay_for_attempt(attempt)
    }
}
