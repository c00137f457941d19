//! What running activities report.

/// How far an activity is, by its last report. The report lives as long as the activity.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ActivityProgress {
    /// Execution that asked for the activity.
    pub execution_id: u64,
    /// Schedule event id.
    pub activity_id: u64,
    /// Registered name.
    pub activity_name: String,
    /// The attempt that reported.
    pub attempt: u32,
    /// The report.
    pub progress: String,
    /// When it was stored, milliseconds since the Unix epoch.
    pub updated_at_ms: u64,
}

impl ActivityProgress {
    /// An empty report of the first attempt of an activity.
    pub fn new(execution_id: u64, activity_id: u64) -> Self {
        Self {
            execution_id,
            activity_id,
            activity_name: String::new(),
            attempt: 1,
            progress: String::new(),
            updated_at_ms: 0,
        }
    }

    /// The report.
    #[must_use]
    pub fn with_progress(mut self, progress: impl Into<String>) -> Self {
        self.progress = progress.into();
        self
    }

    /// Registered name.
    #[must_use]
    pub fn with_activity_name(mut self, activity_name: impl Into<String>) -> Self {
        self.activity_name = activity_name.into();
        self
    }

    /// The attempt that reported.
    #[must_use]
    pub fn with_attempt(mut self, attempt: u32) -> Self {
        self.attempt = attempt;
        self
    }

    /// When it was stored, milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_updated_at_ms(mut self, updated_at_ms: u64) -> Self {
        self.updated_at_ms = updated_at_ms;
        self
    }
}
