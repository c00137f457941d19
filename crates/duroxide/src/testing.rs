//! The test kit: workflows in a plain `#[tokio::test]`, in memory, on a clock that skips.
//!
//! # Examples
//!
//! ```
//! use duroxide::prelude::*;
//! use duroxide::testing::TestEnv;
//!
//! #[activity]
//! async fn charge(_ctx: ActivityContext, order: String) -> Result<String, String> {
//!     Err(format!("no bank here for {order}"))
//! }
//!
//! #[orchestration]
//! async fn buy(ctx: OrchestrationContext, order: String) -> Result<String, String> {
//!     ctx.schedule_timer(Duration::from_secs(3 * 24 * 3600)).await;
//!     Ok(ctx.call(charge, order).await?)
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let env = TestEnv::builder()
//!     .register(buy)
//!     .mock(charge, |_order: String| Ok("free".to_owned()))
//!     .build();
//! let run = env.start(buy, "o-1", "a book").await?;
//! assert_eq!(env.result(&run).await?, "free"); // three days pass in milliseconds
//! assert_eq!(env.calls(charge)?, ["a book"]);
//! # Ok(())
//! # }
//! ```

pub use duroxide_testing::{
    ActivityEnv, CrashReport, RecordedCall, Replayer, TestEnv, TestEnvBuilder, TestError,
};
