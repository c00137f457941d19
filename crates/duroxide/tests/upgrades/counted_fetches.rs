//! A store that writes down what it gives a node although the node cannot run it.

use std::sync::Arc;

use async_trait::async_trait;
use duroxide::providers::{
    FetchedTurn, FetchedWork, NeededCode, Provider, ProviderError, TurnFetch, WorkFetch, WorkItem,
};
use semver::Version;

use crate::deployment::Deployment;
use crate::journal::Journal;

/// The entry in the journal; the text after it names the instance and the reason.
pub(crate) const BOUNCED: &str = "bounced";

pub(crate) struct CountedFetches {
    pub(crate) inner: Arc<dyn Provider>,
    pub(crate) journal: Journal,
    pub(crate) deployment: Deployment,
}

impl CountedFetches {
    fn bounced(&self, instance: &str, reason: &str) {
        self.journal.write(BOUNCED, &format!("{instance}: {reason}"));
    }

    /// Does not await: a node that stops drops its fetch, and what a decorator holds is lost then.
    fn judge_turn(&self, turn: &FetchedTurn) {
        let item = &turn.item;
        if let Some(error) = &item.history_error {
            self.bounced(&item.instance, error);
        }
        // A turn that a node releases and a lease that expires count as an attempt.
        if turn.attempt_count > 1 {
            self.bounced(&item.instance, "this is not the first attempt");
        }
        let start = item.messages.iter().find(|message| {
            matches!(message, WorkItem::StartOrchestration { .. } | WorkItem::ContinueAsNew { .. })
        });
        let code = match start {
            Some(start) => NeededCode::of_message(start),
            None => Some(NeededCode::of_execution(&item.orchestration_name, &item.version)),
        };
        if !self.deployment.runs().runs(code.as_ref()) {
            self.bounced(&item.instance, &format!("this node lacks {code:?}"));
        }
        // Without the first event: the node starts the execution and pins it, or it has replayed
        // the events before and holds them.
        if let Some(first) = item.history.first().filter(|event| event.event_id == 1) {
            let pin: Version = first.duroxide_version.parse().unwrap();
            if pin > self.deployment.build().parse().unwrap() {
                self.bounced(&item.instance, &format!("it is pinned to {pin}"));
            }
        }
    }

    fn judge_work(&self, work: &FetchedWork) {
        let WorkItem::ActivityExecute { instance, name, .. } = &work.item else {
            panic!("not an activity: {work:?}")
        };
        if !self.deployment.activities().contains(&name.as_str()) {
            self.bounced(instance, &format!("this node lacks {name}"));
        }
        if work.attempt_count > 1 {
            self.bounced(instance, &format!("this is not the first attempt of {name}"));
        }
    }
}

#[async_trait]
impl Provider for CountedFetches {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    async fn fetch_orchestration_items(
        &self,
        request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        let turns = self.inner.fetch_orchestration_items(request).await?;
        turns.iter().for_each(|turn| self.judge_turn(turn));
        Ok(turns)
    }

    async fn fetch_work_items(
        &self,
        request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        let work = self.inner.fetch_work_items(request).await?;
        work.iter().for_each(|work| self.judge_work(work));
        Ok(work)
    }

    duroxide::providers::forward_provider! { this => this.inner }
}
