//! Short names for shared handles.

use std::sync::Arc;

/// A shared provider.
pub type ProviderRef = Arc<dyn crate::providers::Provider>;

/// A shared orchestration handler.
pub type OrchestrationHandlerRef = Arc<dyn crate::runtime::OrchestrationHandler>;
