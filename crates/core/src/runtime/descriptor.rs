//! What an instance was started as.

/// Identity of an instance, from the start event of its latest execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrchestrationDescriptor {
    /// Registered name.
    pub name: String,
    /// Resolved handler version.
    pub version: String,
    /// Instance that waits for the result.
    pub parent_instance: Option<String>,
    /// Schedule event in the parent.
    pub parent_id: Option<u64>,
}
