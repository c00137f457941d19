//! Where and by when an activity is to be started.

use std::time::Duration;

/// Choices about one call of an activity. The default is an ordinary call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityOptions {
    /// Routes the activity to workers that take this tag.
    pub tag: Option<String>,
    /// Runs the activity where this session lives.
    pub session_id: Option<String>,
    /// How long the activity may wait for a worker before it fails.
    pub schedule_to_start_limit: Option<Duration>,
}

impl ActivityOptions {
    /// An ordinary call.
    pub fn new() -> Self {
        Self::default()
    }

    /// Routes the activity to workers that take `tag`.
    pub fn with_tag(mut self, tag: impl Into<String>) -> Self {
        self.tag = Some(tag.into());
        self
    }

    /// Runs the activity where the session lives.
    pub fn with_session(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// Lets the activity fail if no worker has started it after `limit`.
    pub fn with_schedule_to_start_limit(mut self, limit: Duration) -> Self {
        self.schedule_to_start_limit = Some(limit);
        self
    }
}
