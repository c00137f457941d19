//! Recorded histories against the code of this build, in one line.

use std::path::Path;

use duroxide_core::histories::{HistoriesError, HistoryReader};
use duroxide_core::runtime::check::{CheckReport, CheckedExecution, Checker};
use duroxide_core::runtime::registry::{Register, Registries};
use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry};

/// Replays recorded histories with the code of this build. Finished executions are compared, too.
///
/// `Client`, the command `duroxide export` and [`TestEnv::export`](crate::TestEnv::export) write
/// such histories.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_core::{ActivityContext, OrchestrationContext};
/// # use duroxide_macros::{activity, orchestration};
/// # use duroxide_testing::{Replayer, TestEnv};
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
/// let recorded = env.export("order-17").await?;
/// let replayed = Replayer::of(buy).replay(&recorded)?;
/// assert!(replayed[0].verdict.is_fine());
/// # Ok(())
/// # }
/// ```
#[must_use = "a replayer does nothing until it replays"]
#[derive(Default)]
pub struct Replayer {
    registries: Registries,
}

impl std::fmt::Debug for Replayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replayer").finish_non_exhaustive()
    }
}

impl Replayer {
    /// Replays with this orchestration.
    pub fn of<F, M>(orchestration: F) -> Self
    where
        F: Register<M>,
    {
        Self::default().register(orchestration)
    }

    /// Adds an orchestration.
    pub fn register<F, M>(mut self, function: F) -> Self
    where
        F: Register<M>,
    {
        self.registries = function.register_in(self.registries);
        self
    }

    /// Adds orchestrations that are registered by name.
    pub fn orchestrations(mut self, registry: OrchestrationRegistry) -> Self {
        self.registries.orchestrations = self.registries.orchestrations.merge(registry);
        self
    }

    /// Adds activities, for what their registration says about replays.
    pub fn activities(mut self, registry: ActivityRegistry) -> Self {
        self.registries.activities = self.registries.activities.merge(registry);
        self
    }

    /// Panics, with a report, unless the code agrees with all histories of a folder or a file.
    ///
    /// # Panics
    /// When the code disagrees, when the files cannot be read, or when they hold no history.
    #[track_caller]
    pub fn assert_folder(self, path: impl AsRef<Path>) {
        let path = path.as_ref();
        let report = match self.checker().check_folder(path) {
            Ok(report) => report,
            Err(error) => panic!("the histories cannot be replayed: {error}"),
        };
        // A wrong path must not pass for a good result.
        assert!(report.progress.executions > 0, "no history was found in {}", path.display());
        report.assert_compatible();
    }

    /// Replays all histories of a folder or a file.
    ///
    /// # Errors
    /// When a file cannot be read or is not a file of histories.
    pub fn replay_folder(self, path: impl AsRef<Path>) -> Result<CheckReport, HistoriesError> {
        self.checker().check_folder(path)
    }

    /// Replays exported histories that are in memory.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn replay(self, exported: &str) -> Result<Vec<CheckedExecution>, HistoriesError> {
        let checker = self.checker();
        let mut reader = HistoryReader::new("the text", exported.as_bytes())?;
        let mut checked = Vec::new();
        while let Some(raw) = reader.next_raw()? {
            checked.push(checker.check_history(raw.decode()?));
        }
        Ok(checked)
    }

    fn checker(self) -> Checker {
        let activities = self.registries.activities.build();
        let orchestrations = self.registries.orchestrations.build();
        Checker::new(orchestrations).with_activities(activities).with_finished(true)
    }
}
