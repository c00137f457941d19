//! Faults of commits that lease activities.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    CommittedTurn, LeasedWork, Provider, ProviderError, ScheduledActivityIdentifier,
    SessionFetchConfig, TagFilter, TurnCommit, WorkItem, WorkLease,
};

use crate::fault::Fault;
use crate::provider::{AGES, FaultyProvider};

impl FaultyProvider {
    /// Commits a fetched turn with the fault.
    pub(crate) async fn commit_leasing(
        &self,
        mut commit: TurnCommit,
    ) -> Result<CommittedTurn, ProviderError> {
        let wish = commit.lease_work.clone();
        let work = commit.worker_items.clone();
        self.bend_lease(&mut commit);
        match self.inner.commit_turn(Arc::new(commit)).await {
            Ok(committed) => self.bent_leases(committed, &work, wish.as_ref()).await,
            Err(error) => {
                if self.has(Fault::RefusedWorkEnqueued) {
                    for item in work {
                        self.inner.enqueue_for_worker(item).await?;
                    }
                }
                Err(error)
            }
        }
    }

    fn bend_lease(&self, commit: &mut TurnCommit) {
        let indexes = || (0..commit.worker_items.len()).collect();
        match (self.fault(), commit.lease_work.take()) {
            (Some(Fault::LeaseNotWritten), _) => {}
            (Some(Fault::LeaseOfEverything), Some(wish)) => {
                commit.lease_work = Some(WorkLease { indexes: indexes(), ..wish });
            }
            (Some(Fault::LeaseTooLong), Some(wish)) => {
                commit.lease_work = Some(WorkLease { lock_timeout: AGES, ..wish });
            }
            (Some(Fault::LeasedNotCancelled), Some(wish)) => {
                commit.lease_work = Some(wish);
                commit.cancelled_activities.clear();
            }
            (_, wish) => commit.lease_work = wish,
        }
    }

    async fn bent_leases(
        &self,
        mut committed: CommittedTurn,
        work: &[WorkItem],
        wish: Option<&WorkLease>,
    ) -> Result<CommittedTurn, ProviderError> {
        let Some(wish) = wish else { return Ok(committed) };
        match self.fault() {
            Some(Fault::LeaseNotWritten) => {
                let invented = |index: &usize| LeasedWork {
                    index: *index,
                    lock_token: format!("invented {index}"),
                };
                committed.leased = wish.indexes.iter().map(invented).collect();
            }
            Some(Fault::LeaseTokenShared) => {
                if let Some(first) = committed.leased.first().cloned() {
                    for leased in &mut committed.leased {
                        leased.lock_token.clone_from(&first.lock_token);
                    }
                }
            }
            Some(Fault::LeaseOfSessions) => self.lease_sessions(&mut committed, work, wish).await?,
            _leases_well => {}
        }
        let leased = committed.leased.iter().filter_map(|leased| work.get(leased.index)).cloned();
        self.memory.noted().leased.extend(leased);
        for leased in &committed.leased {
            if let Some(item) = work.get(leased.index) {
                self.note_work(&leased.lock_token, item);
            }
        }
        Ok(committed)
    }

    async fn lease_sessions(
        &self,
        committed: &mut CommittedTurn,
        work: &[WorkItem],
        wish: &WorkLease,
    ) -> Result<(), ProviderError> {
        for index in &wish.indexes {
            let bound = work.get(*index).is_some_and(|item| {
                matches!(item, WorkItem::ActivityExecute { session_id: Some(_), .. })
            });
            if !bound {
                continue;
            }
            let owner =
                SessionFetchConfig { owner_id: "other worker".to_owned(), lock_timeout: AGES };
            let fetch =
                self.inner.fetch_work_item(AGES, Duration::ZERO, Some(&owner), &TagFilter::Any);
            if let Some((_, lock_token, _)) = fetch.await? {
                committed.leased.push(LeasedWork { index: *index, lock_token });
            }
        }
        committed.leased.sort_by_key(|leased| leased.index);
        Ok(())
    }

    /// Records which activity a token belongs to.
    pub(crate) fn note_work(&self, token: &str, item: &WorkItem) {
        let WorkItem::ActivityExecute { instance, execution_id, id, .. } = item else { return };
        let id = ScheduledActivityIdentifier {
            instance: instance.clone(),
            execution_id: *execution_id,
            activity_id: *id,
        };
        self.memory.noted().work.insert(token.to_owned(), id);
    }

    pub(crate) fn bent_attempt(&self, item: &WorkItem, attempt: u32) -> u32 {
        let leased = self.memory.noted().leased.contains(item);
        let lost = leased && self.has(Fault::LeaseAttemptNotCounted);
        if lost { attempt.saturating_sub(1) } else { attempt }
    }
}
