//! Why a test environment cannot go on.

use std::time::Duration;

use duroxide_core::ClientError;
use duroxide_core::runtime::check::StartupRefusal;
use thiserror::Error;

/// Why a test environment cannot go on.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_core::{ActivityContext, OrchestrationContext};
/// # use duroxide_macros::{activity, orchestration};
/// # use duroxide_testing::{TestEnv, TestError};
/// # #[activity]
/// # async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
/// #     Ok(format!("{cents} cents charged"))
/// # }
/// #
/// # #[orchestration]
/// # async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
/// #     ctx.schedule_timer(std::time::Duration::from_secs(3 * 24 * 3600)).await;
/// #     Ok(ctx.call(charge, cents).await?)
/// # }
/// #
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let env = TestEnv::builder().register(buy).build(); // `charge` is missing
/// match env.start(buy, "order-17", 1200).await {
///     Err(TestError::Start(refused)) => println!("{refused}"),
///     other => panic!("{other:?}"),
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TestError {
    /// The node does not start: functions are missing that registered code calls.
    #[error("{0}; in a test, a mock takes its place")]
    Start(#[from] StartupRefusal),
    /// The instance waits, and no timer is set.
    #[error("the instance waits for something that no timer brings:\n{why}")]
    Stuck {
        /// Why it waits.
        why: String,
    },
    /// Code runs for longer than the environment waits.
    #[error("code is still running after {waited:?} of real time: {running}")]
    Busy {
        /// How long the environment waited.
        waited: Duration,
        /// What runs.
        running: String,
    },
    /// The instance did not end, however many timers fired.
    #[error("the instance has not ended after {timers} timers; advance the clock instead")]
    Endless {
        /// How many timers.
        timers: usize,
    },
    /// There is no such instance.
    #[error("there is no instance '{0}'")]
    NotFound(String),
    /// The client refused.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A recorded input does not decode.
    #[error("{0}")]
    Decode(String),
}

impl From<TestError> for String {
    fn from(error: TestError) -> Self {
        error.to_string()
    }
}
