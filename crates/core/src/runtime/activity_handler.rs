//! Activity code as a value.

use std::future::Future;

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
