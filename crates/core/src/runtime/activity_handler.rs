//! Activity code as a value.

use std::future::{Future, pending};
use std::panic::resume_unwind;
use std::sync::Arc;

use async_trait::async_trait;

use super::ActivityContext;

/// Code of an activity. It may do anything, and may run more than once.
#[async_trait]
pub trait ActivityHandler: Send + Sync {
    /// Runs the activity.
    async fn invoke(&self, ctx: ActivityContext, input: String) -> Result<String, String>;
}

/// A closure as an [`ActivityHandler`].
pub struct FnActivity<F, Fut>(pub F)
where
    F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static;

#[async_trait]
impl<F, Fut> ActivityHandler for FnActivity<F, Fut>
where
    F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, String>> + Send + 'static,
{
    async fn invoke(&self, ctx: ActivityContext, input: String) -> Result<String, String> {
        (self.0)(ctx, input).await
    }
}

/// A closure that blocks its thread as an [`ActivityHandler`].
pub(crate) struct BlockingActivity<F>(pub(crate) Arc<F>);

#[async_trait]
impl<F> ActivityHandler for BlockingActivity<F>
where
    F: Fn(ActivityContext, String) -> Result<String, String> + Send + Sync + 'static,
{
    async fn invoke(&self, ctx: ActivityContext, input: String) -> Result<String, String> {
        let code = Arc::clone(&self.0);
        match tokio::task::spawn_blocking(move || code(ctx, input)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(payload) => resume_unwind(payload),
                // Tokio is shutting down, and we are about to be dropped with it.
                Err(_cancelled) => pending().await,
            },
        }
    }
}
