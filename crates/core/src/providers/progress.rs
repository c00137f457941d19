//! What running activities say of themselves.

/// What an activity has last said of how far it is. It lives as long as the activity does.
#[derive(Debug, Clone, PartialEq, Eq)]
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
