//! Orchestration code as the runtime sees it.

use std::future::Future;

use async_trait::async_trait;

use super::orchestration::OrchestrationContext;

/// Orchestration code.
#[async_trait]
pub trait OrchestrationHandler: Send + Sync {
    /// Runs it once; a later replay runs it again from the beginning.
    async fn invoke(&self, ctx: OrchestrationContext, input: String) -> Result<String, String>;
}

/// Makes a handler of a closure.
pub struct FnOrchestration<F, Fut>(pub F)
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static;

#[async_trait]
impl<F, Fut> OrchestrationHandler for FnOrchestration<F, Fut>
where
    F: Fn(OrchestrationContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    async fn invoke(&self, ctx: OrchestrationContext, input: String) -> Result<String, String> {
        (self.0)(ctx, input).await
    }
}
