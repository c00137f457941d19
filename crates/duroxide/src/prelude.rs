//! What a program with workflows needs: `use duroxide::prelude::*;`.
//!
//! # Examples
//!
//! ```
//! use duroxide::prelude::*;
//!
//! #[activity]
//! async fn greet(_ctx: ActivityContext, name: String) -> Result<String, String> {
//!     Ok(format!("Hello, {name}!"))
//! }
//!
//! #[orchestration]
//! async fn hello(ctx: OrchestrationContext, name: String) -> Result<String, String> {
//!     ctx.schedule_timer(Duration::from_millis(10)).await;
//!     Ok(ctx.call(greet, name).await?)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Arc::new(SqliteProvider::new_in_memory().await?);
//! let runtime = DuroxideRuntime::builder()
//!     .with_provider(store.clone())
//!     .register(hello)
//!     .register(greet)
//!     .build()
//!     .await?;
//! let instance = Client::new(store).start(hello, "hello-1", "Ada").await?;
//! assert_eq!(instance.result().await?, "Hello, Ada!");
//! runtime.shutdown(None).await;
//! # Ok(())
//! # }
//! ```

pub use std::sync::Arc;
pub use std::time::Duration;

#[cfg(feature = "sqlite")]
pub use crate::providers::sqlite::SqliteProvider;
pub use crate::runtime::registry::{ActivityRegistry, OrchestrationRegistry};
pub use crate::runtime::{DuroxideRuntime, Runtime, RuntimeOptions};
pub use crate::{
    ActivityContext, BackoffStrategy, CallError, Client, ClientError, DurableFuture, Either2,
    Either3, OrchestrationContext, OrchestrationStatus, Queue, Retry, RetryHint, RetryPolicy,
    Retryable, Signal,
};
#[cfg(feature = "macros")]
pub use crate::{activity, orchestration};
