//! The calls of activities.

use std::sync::{Mutex, PoisonError};

/// One run of an activity, mocked or real.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_core::{ActivityContext, OrchestrationContext};
/// # use duroxide_macros::{activity, orchestration};
/// # use duroxide_testing::TestEnv;
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
/// let env = TestEnv::builder().register(buy).register(charge).build();
/// let order = env.start(buy, "order-17", 1200).await?;
/// env.result(&order).await?;
/// let call = &env.calls_named("charge")[0];
/// assert_eq!((call.instance_id.as_str(), call.input.as_str()), ("order-17", "1200"));
/// assert_eq!(call.at_ms, 3 * 24 * 3600 * 1000);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RecordedCall {
    /// The recorded name of the activity.
    pub activity: String,
    /// The instance that called.
    pub instance_id: String,
    /// The input as it is stored.
    pub input: String,
    /// Which delivery of the call this is, from 1.
    pub attempt: u32,
    /// When, by the clock of the test, in milliseconds since the start of the environment.
    pub at_ms: u64,
}

/// All calls of one environment, in the order in which they began.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    calls: Mutex<Vec<RecordedCall>>,
}

impl Journal {
    pub(crate) fn note(&self, call: RecordedCall) {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    pub(crate) fn of(&self, activity: &str) -> Vec<RecordedCall> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().filter(|call| call.activity == activity).cloned().collect()
    }
}
