//! An activity whose result is not stored yet.

use std::time::Duration;

use super::leased_activity::{LeasedActivity, Work};
use super::report::{self, Stored};
use crate::model::WorkItem;

/// An activity whose result is not stored yet. Its lease is renewed until this is dropped.
pub(crate) struct FinishedActivity {
    pub(super) leased: LeasedActivity,
    pub(super) work: Work,
    pub(super) completion: WorkItem,
    /// How metrics name the outcome.
    pub(super) outcome: &'static str,
    /// How long the handler ran; `None` if it was not called.
    pub(super) took: Option<Duration>,
}

/// Whether an earlier try to store a result may have succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlierTry {
    /// There was none, or the store refused it.
    None,
    /// The store did not say what became of it.
    Uncertain,
}

impl FinishedActivity {
    /// The instance that scheduled it.
    pub(crate) fn instance(&self) -> &str {
        &self.work.id.instance
    }

    /// The execution that scheduled it.
    pub(crate) fn execution_id(&self) -> u64 {
        self.work.id.execution_id
    }

    /// How often it was fetched.
    pub(crate) fn attempt_count(&self) -> u32 {
        self.leased.attempt_count
    }

    /// The message for the orchestration.
    pub(crate) fn completion(&self) -> &WorkItem {
        &self.completion
    }

    /// The token of its lease.
    pub(crate) fn lock_token(&self) -> &str {
        &self.leased.lock_token
    }

    /// The worker that ran it.
    pub(crate) fn worker_id(&self) -> &str {
        &self.leased.worker_id
    }

    /// Counts it: its result is durable.
    pub(crate) fn record_stored(&self) {
        record(&self.leased, &self.work, self.outcome, self.took);
    }

    /// Stores the result as a message of the orchestrator queue.
    pub(crate) async fn enqueue(self, earlier: EarlierTry) {
        let Self { leased, work, completion, outcome, took } = self;
        let _report = leased.node().reports.announce(&work.id.instance);
        match report::store(&leased, completion, earlier).await {
            Stored::Durable => record(&leased, &work, outcome, took),
            // A turn cancelled the activity meanwhile; that is no fault of the infrastructure.
            Stored::Unwanted => record(&leased, &work, "cancelled", took),
            Stored::Failed => leased.node().metrics().record_activity_infra_error(),
        }
    }
}

fn record(leased: &LeasedActivity, work: &Work, outcome: &str, took: Option<Duration>) {
    report::record(leased, work, outcome, took.unwrap_or_default());
}
