//! Values that an instance keeps under keys.

use serde::{Deserialize, Serialize};

/// A stored value and when it was set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KvEntry {
    /// The value.
    pub value: String,
    /// When it was set, milliseconds since the Unix epoch.
    pub last_updated_at_ms: u64,
}
