//! Options of one activity call.

use std::time::Duration;

/// Options of one activity call: which worker may run it, and how soon it must start. The default
/// is an ordinary call.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::ActivityOptions;
///
/// let options = ActivityOptions::new().with_tag("gpu").with_session("scene-7");
/// assert_eq!(options.tag.as_deref(), Some("gpu"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "options do nothing until a call has them"]
pub struct ActivityOptions {
    /// Only workers that accept this tag run the activity.
    pub tag: Option<String>,
    /// The session whose worker runs the activity.
    pub session_id: Option<String>,
    /// The activity fails if no worker starts it within this time.
    pub schedule_to_start_limit: Option<Duration>,
}

impl ActivityOptions {
    /// Options of an ordinary call.
    pub fn new() -> Self {
        Self::default()
    }

    /// Routes the activity to workers that accept `tag`.
    #[must_use = "returns the changed options"]
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Runs the activity on the worker that owns the session.
    #[must_use = "returns the changed options"]
    pub fn with_session(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// Makes the activity fail if no worker starts it within `limit`.
    #[must_use = "returns the changed options"]
    pub fn with_schedule_to_start_limit(mut self, limit: Duration) -> Self {
        self.schedule_to_start_limit = Some(limit);
        self
    }
}
