//! Starting a node step by step.

use std::sync::Arc;

use super::{ActivityRegistry, OrchestrationRegistry, Runtime, RuntimeOptions};
use crate::providers::Provider;

/// Entry point of the builder: `DuroxideRuntime::builder()`.
#[derive(Debug)]
pub struct DuroxideRuntime;

impl DuroxideRuntime {
    /// A builder with default options and empty registries.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder::default()
    }
}

/// Collects what a node needs.
#[derive(Default)]
pub struct RuntimeBuilder {
    provider: Option<Arc<dyn Provider>>,
    activities: ActivityRegistry,
    orchestrations: OrchestrationRegistry,
    options: RuntimeOptions,
}

/// Why a node cannot be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuntimeBuildError {
    /// No store was given.
    #[error("a runtime needs a store: call with_provider first")]
    NoProvider,
    /// The options contradict each other.
    #[error("{0}")]
    Options(String),
}

impl RuntimeBuilder {
    /// The store.
    pub fn with_provider(mut self, provider: Arc<dyn Provider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// The activities that this node runs.
    pub fn with_activities(mut self, activities: ActivityRegistry) -> Self {
        self.activities = activities;
        self
    }

    /// The orchestrations that this node runs.
    pub fn with_orchestrations(mut self, orchestrations: OrchestrationRegistry) -> Self {
        self.orchestrations = orchestrations;
        self
    }

    /// The options.
    pub fn with_options(mut self, options: RuntimeOptions) -> Self {
        self.options = options;
        self
    }

    /// Starts the node.
    pub async fn build(self) -> Result<Arc<Runtime>, RuntimeBuildError> {
        let provider = self.provider.ok_or(RuntimeBuildError::NoProvider)?;
        self.options.validate().map_err(RuntimeBuildError::Options)?;
        let options = self.options;
        Ok(Runtime::start_with_options(provider, self.activities, self.orchestrations, options)
            .await)
    }
}

impl std::fmt::Debug for RuntimeBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RuntimeBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}
