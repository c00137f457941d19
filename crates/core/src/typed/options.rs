//! Options that belong to an activity rather than to one call of it.

use std::time::Duration;

use super::retry::Retry;

/// Options of the calls of an activity, as its attribute writes them. A call can replace each one.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use std::time::Duration;
///
/// use duroxide::typed::{CallOptions, Retry};
///
/// // What #[activity(timeout = "30s", retry(attempts = 3))] writes.
/// let options =
///     CallOptions::new().with_timeout(Duration::from_secs(30)).with_retry(Retry::new(3));
/// assert_eq!(options.timeout, Some(Duration::from_secs(30)));
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
#[must_use = "options do nothing until an activity has them"]
pub struct CallOptions {
    /// Only workers that accept this tag run the activity.
    pub tag: Option<&'static str>,
    /// The activity fails if no worker starts it within this time.
    pub schedule_to_start: Option<Duration>,
    /// The limit of each attempt.
    pub timeout: Option<Duration>,
    /// Further attempts after a failure.
    pub retry: Option<Retry>,
}

impl CallOptions {
    /// Options of an ordinary call: one attempt, no limits, any worker.
    pub const fn new() -> Self {
        Self { tag: None, schedule_to_start: None, timeout: None, retry: None }
    }

    /// Routes the activity to workers that accept `tag`.
    #[must_use = "returns the changed options"]
    pub const fn with_tag(mut self, tag: &'static str) -> Self {
        self.tag = Some(tag);
        self
    }

    /// Makes the activity fail if no worker starts it within `limit`.
    #[must_use = "returns the changed options"]
    pub const fn with_schedule_to_start(mut self, limit: Duration) -> Self {
        self.schedule_to_start = Some(limit);
        self
    }

    /// Limits each attempt.
    #[must_use = "returns the changed options"]
    pub const fn with_timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Adds further attempts after a failure.
    #[must_use = "returns the changed options"]
    pub const fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = Some(retry);
        self
    }
}
