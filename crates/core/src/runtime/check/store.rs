//! Checks the executions of a store.

use std::time::Instant;

use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::checker::Checker;
use super::report::CheckReport;
use super::verdict::CheckedExecution;
use crate::histories::{
    Earlier, HistoriesError, RecordedHistory, executions, read_execution, select,
};
use crate::model::EventKind;
use crate::model::syscall::BUILTIN_CODE;
use crate::providers::Provider;

impl Checker {
    /// Checks the executions of a store, which may be in use: it leases nothing and writes nothing.
    /// An instance that is deleted or completes meanwhile is left out.
    ///
    /// # Errors
    /// When the store cannot be read. A history that cannot be decoded is a problem of the report
    /// instead.
    pub async fn check_store(&self, store: &dyn Provider) -> Result<CheckReport, HistoriesError> {
        let begun = Instant::now();
        let instances = select(store, self.selection).await?;
        let mut report = CheckReport::default();
        report.progress.instances_total = Some(instances.len() as u64);
        // One instance at a time for each worker: the executions of an instance are read in order.
        let mut checks = stream::iter(instances)
            .map(|instance| self.check_instance(store, instance))
            .buffer_unordered(self.parallelism);
        while let Some(checked) = checks.try_next().await? {
            for checked in checked {
                self.add(&mut report, checked);
            }
        }
        drop(checks);
        report.elapsed = begun.elapsed();
        Ok(report)
    }

    async fn check_instance(
        &self,
        store: &dyn Provider,
        instance: String,
    ) -> Result<Vec<CheckedExecution>, HistoriesError> {
        let mut found = Vec::new();
        let mut earlier = Earlier::default();
        for execution_id in executions(store, &instance, self.selection).await? {
            let read = read_execution(store, &instance, execution_id, &mut earlier).await?;
            let history = match read {
                Ok(history) if history.events.is_empty() || !self.wants(&history) => continue,
                Ok(history) if is_of_runtime(&history) => continue,
                Ok(history) => history,
                Err(history) => {
                    let start = store.read_start_event(&instance).await.ok().flatten();
                    let start = start.filter(|start| start.execution_id == execution_id);
                    let error = history.error();
                    found.push(self.undecodable((&instance, execution_id), start, error));
                    continue;
                }
            };
            let checker = self.clone();
            // Off the executor: a long history takes a while, and its code is foreign.
            let checking = tokio::task::spawn_blocking(move || checker.check_history(history));
            found.push(checking.await.unwrap_or_else(|panic| resume(panic)));
        }
        Ok(found)
    }
}

/// Code that belongs to the runtime is not the program's to check.
fn is_of_runtime(history: &RecordedHistory) -> bool {
    let start = history.events.first().map(|event| &event.kind);
    matches!(start, Some(EventKind::OrchestrationStarted { name, .. })
        if name.starts_with(BUILTIN_CODE))
}

fn resume(failed: tokio::task::JoinError) -> ! {
    match failed.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(cancelled) => panic!("the check was cancelled: {cancelled}"),
    }
}
