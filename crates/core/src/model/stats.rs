//! Size of an instance.

use serde::{Deserialize, Serialize};

/// How much an instance holds right now. History figures are those of its current execution.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemStats {
    /// Events in the current execution.
    pub history_event_count: u64,
    /// Characters of their stored form.
    pub history_size_bytes: u64,
    /// Queue messages that the current execution was started with.
    pub queue_pending_count: u64,
    /// Live keys.
    pub kv_user_key_count: u64,
    /// Characters of their values.
    pub kv_total_value_bytes: u64,
}
