//! Runs a test with a crash at every commit.

use std::fmt;

use crate::builder::TestEnvBuilder;
use crate::env::TestEnv;
use crate::gate::{CrashPoint, Plan, Side};

/// What a test with crashes covered.
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
/// let test = async |env: TestEnv| -> Result<String, String> {
///     let order = env.start(buy, "order-17", 1200).await?;
///     Ok(env.result(&order).await?)
/// };
/// let builder = TestEnv::builder().register(buy).register(charge);
/// let report = builder.crash_at_every_commit(test).await;
/// assert_eq!(report.crashes, 2 * report.commits);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CrashReport {
    /// Commits of the run without a crash: turns, and results of activities.
    pub commits: u64,
    /// Runs with a crash: one before and one after each commit.
    pub crashes: u64,
}

impl TestEnvBuilder {
    /// Runs the test once to count the commits of its node, and then twice for each of them: with a
    /// node that crashes right before the commit, and with one that crashes right after it. Another
    /// node goes on. Every run must return the same.
    ///
    /// Activities may run again, so that a test should not count them.
    ///
    /// # Panics
    /// When a run returns something else.
    pub async fn crash_at_every_commit<T, F>(
        self,
        mut test: impl FnMut(TestEnv) -> F,
    ) -> CrashReport
    where
        T: PartialEq + fmt::Debug,
        F: Future<Output = T>,
    {
        let blueprint = self.blueprint();
        let env = blueprint.open(Plan::default());
        let expected = test(env.clone()).await;
        let commits = env.commits();
        env.stop().await;
        for commit in 0..commits {
            for side in [Side::Before, Side::After] {
                let crash = Some(CrashPoint { commit, side });
                let env = blueprint.open(Plan { crash, ..Plan::default() });
                let found = test(env.clone()).await;
                env.stop().await;
                assert!(
                    found == expected,
                    "a crash right {} commit {} of {commits} changes the result\n without: \
                     {expected:?}\n    with: {found:?}",
                    if side == Side::Before { "before" } else { "after" },
                    commit + 1,
                );
            }
        }
        CrashReport { commits, crashes: 2 * commits }
    }
}
