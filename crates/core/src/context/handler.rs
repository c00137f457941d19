//! Orchestration code as a value.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;

use super::OrchestrationContext;

/// Code of an orchestration. It is run again from the start whenever its history is replayed, so
/// it must ask for the same things in the same order.
#[async_trait]
pub trait OrchestrationHandler: Send + Sync {
    /// Runs the orchestration.
    async fn invoke(&self, ctx: OrchestrationContext, input: String) -> Result<String, String>;
}

/// A closure as an [`OrchestrationHandler`].
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

/// Orchestration code that has been begun.
pub(crate) type Code = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// The code, from its beginning. A handler that panics before its first await panics in a poll.
///
/// Unconstrained, because the budget of the task that happens to run a turn would make channels
/// between branches pretend to be empty at a place that no replay can know.
pub(crate) fn begin(
    handler: Arc<dyn OrchestrationHandler>,
    ctx: OrchestrationContext,
    input: String,
) -> Code {
    Box::pin(tokio::task::unconstrained(async move { handler.invoke(ctx, input).await }))
}
