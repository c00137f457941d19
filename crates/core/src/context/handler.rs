//! Orchestration code behind a trait.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;

use super::OrchestrationContext;

/// The code of an orchestration. Replay runs it again from the start over its history, so it must
/// schedule the same operations in the same order.
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

/// The future of started orchestration code.
pub(crate) type Code = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// Starts the code. A handler that panics before its first await panics in the first poll.
///
/// The future is unconstrained: the cooperative budget of the task that runs a turn would make
/// channels between branches appear empty at a point that a replay cannot reproduce.
pub(crate) fn start_code(
    handler: Arc<dyn OrchestrationHandler>,
    ctx: OrchestrationContext,
    input: String,
) -> Code {
    Box::pin(tokio::task::unconstrained(async move { handler.invoke(ctx, input).await }))
}
