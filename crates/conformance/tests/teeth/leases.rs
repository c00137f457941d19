//! Faults of commits that lease activities.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    CommittedTurn, LeasedWork, Provider, ProviderError, ScheduledActivity,
    ScheduledActivityIdentifier, SessionFetchConfig, TagFilter, TurnCommit, WorkItem,
};

use crate::fault::Fault;
use crate::provider::{AGES, FaultyProvider};

impl FaultyProvider {
    /// Commits a fetched turn with the fault.
    pub(crate) async fn commit_leasing(
        &self,
        mut commit: TurnCommit,
    ) -> Result<CommittedTurn, ProviderError> {
        let asked = commit.activities.clone();
        self.distort_lease(&mut commit);
        match self.faulty_commit_kind(self.inner.commit_turn(Arc::new(commit)).await) {
            Ok(committed) => self.faulty_leases(committed, &asked).await,
            Err(error) => {
                if self.has(Fault::RefusedWorkEnqueued) {
                    for activity in asked {
                        self.inner.enqueue_for_worker(activity.item).await?;
                    }
                }
                Err(error)
            }
        }
    }

    fn distort_lease(&self, commit: &mut TurnCommit) {
        let Some(length) = commit.activities.iter().find_map(|activity| activity.lease) else {
            return;
        };
        let leases = commit.activities.iter_mut().map(|activity| &mut activity.lease);
        match self.fault() {
            Some(Fault::LeaseNotWritten) => leases.for_each(|lease| *lease = None),
            Some(Fault::LeaseOfEverything) => leases.for_each(|lease| *lease = Some(length)),
            Some(Fault::LeaseTooLong) => {
                leases.for_each(|lease| *lease = lease.map(|_| AGES));
            }
            Some(Fault::LeasedNotCancelled) => commit.cancelled_activities.clear(),
            _other => {}
        }
    }

    async fn faulty_leases(
        &self,
        mut committed: CommittedTurn,
        asked: &[ScheduledActivity],
    ) -> Result<CommittedTurn, ProviderError> {
        let wish: Vec<usize> = asked
            .iter()
            .enumerate()
            .filter(|(_, activity)| activity.lease.is_some())
            .map(|(index, _)| index)
            .collect();
        if wish.is_empty() {
            return Ok(committed);
        }
        match self.fault() {
            Some(Fault::LeaseNotWritten) => {
                let invented = |index: &usize| LeasedWork::new(*index, format!("invented {index}"));
                committed.leased = wish.iter().map(invented).collect();
            }
            Some(Fault::LeaseTokenShared) => {
                if let Some(first) = committed.leased.first().cloned() {
                    for leased in &mut committed.leased {
                        leased.lock_token.clone_from(&first.lock_token);
                    }
                }
            }
            Some(Fault::LeaseOfSessions) => {
                self.lease_sessions(&mut committed, asked, &wish).await?
            }
            _leases_well => {}
        }
        for leased in &committed.leased {
            if let Some(activity) = asked.get(leased.index) {
                self.memory.noted().leased.push(activity.item.clone());
                self.note_work(&leased.lock_token, &activity.item);
            }
        }
        Ok(committed)
    }

    async fn lease_sessions(
        &self,
        committed: &mut CommittedTurn,
        asked: &[ScheduledActivity],
        wish: &[usize],
    ) -> Result<(), ProviderError> {
        for index in wish {
            let bound = asked.get(*index).is_some_and(|activity| {
                matches!(activity.item, WorkItem::ActivityExecute { session_id: Some(_), .. })
            });
            if !bound {
                continue;
            }
            let owner =
                SessionFetchConfig { owner_id: "other worker".to_owned(), lock_timeout: AGES };
            let fetch =
                self.inner.fetch_work_item(AGES, Duration::ZERO, Some(&owner), &TagFilter::Any);
            if let Some((_, lock_token, _)) = fetch.await? {
                committed.leased.push(LeasedWork::new(*index, lock_token));
            }
        }
        committed.leased.sort_by_key(|leased| leased.index);
        Ok(())
    }

    /// Reclaims a turn with the fault.
    pub(crate) async fn reclaim_turn(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        match self.fault() {
            Some(Fault::TurnNotReclaimed) => {
                self.inner.renew_orchestration_item_lock(token, extend_for).await
            }
            Some(Fault::LostTurnReclaimed) => Ok(()),
            Some(Fault::ReclaimWithoutEffect) => {
                self.inner.reclaim_orchestration_item_lock(token, Duration::ZERO).await
            }
            _reclaims_well => self.inner.reclaim_orchestration_item_lock(token, extend_for).await,
        }
    }

    /// Marks a turn with the fault.
    pub(crate) async fn mark_turn(&self, token: &str, running: bool) -> Result<u32, ProviderError> {
        let marked = match self.fault() {
            Some(Fault::MarkIgnored) => false,
            Some(Fault::MarkNotRemoved) => self.memory.note_mark(token, running),
            _marks_well => running,
        };
        let excused = self.inner.mark_turn_running(token, marked).await;
        match self.fault() {
            Some(Fault::NothingExcused) => excused.map(|_| 0),
            Some(Fault::MarkWithoutLease) => Ok(excused.unwrap_or(0)),
            _excuses_well => excused,
        }
    }

    /// Reclaims an activity with the fault.
    pub(crate) async fn reclaim_work(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        match self.fault() {
            Some(Fault::WorkNotReclaimed) => {
                self.inner.renew_work_item_lock(token, extend_for).await
            }
            Some(Fault::LostWorkReclaimed) => Ok(()),
            Some(Fault::ReclaimWithoutEffect) => {
                self.inner.reclaim_work_item_lock(token, Duration::ZERO).await
            }
            _reclaims_well => self.inner.reclaim_work_item_lock(token, extend_for).await,
        }
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

    pub(crate) fn faulty_attempt(&self, item: &WorkItem, attempt: u32) -> u32 {
        let leased = self.memory.noted().leased.contains(item);
        let lost = leased && self.has(Fault::LeaseAttemptNotCounted);
        if lost { attempt.saturating_sub(1) } else { attempt }
    }
}
