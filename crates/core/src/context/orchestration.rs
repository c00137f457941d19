//! The handle that orchestration code works with.

/// What orchestration code calls to ask for work.
#[derive(Clone)]
pub struct OrchestrationContext;
