//! Faults of direct turns.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    CommittedTurn, DirectTurn, ExecutionMetadata, HistoryMark, Provider, ProviderError, TurnCommit,
    WorkItem,
};

use crate::fault::Fault;
use crate::provider::{AGES, FaultyProvider};

type Commit = Result<Option<CommittedTurn>, ProviderError>;

impl FaultyProvider {
    pub(crate) fn note_incarnation(&self, instance: Option<String>, committed: &CommittedTurn) {
        if let (Some(instance), Some(incarnation)) = (instance, committed.incarnation) {
            self.memory.noted().incarnations.insert(instance, incarnation);
        }
    }

    /// Commits a direct turn with the fault.
    pub(crate) async fn commit_direct(&self, mut turn: DirectTurn) -> Commit {
        let asked = turn.clone();
        turn.mark = self.faulty_mark(&turn).await;
        self.distort_direct(&mut turn).await;
        let mut result = self.inner.commit_direct_turn(Arc::new(turn.clone())).await;
        if matches!(result, Ok(None)) && self.remove_obstacles(&turn.instance).await? {
            result = self.inner.commit_direct_turn(Arc::new(turn)).await;
        }
        match result {
            Ok(Some(committed)) => self.counted(asked, committed).await.map(Some),
            Ok(None) => self.refused(asked).await,
            Err(error) => self.failed(asked, error).await,
        }
    }

    /// The mark with the fault applied.
    async fn faulty_mark(&self, turn: &DirectTurn) -> HistoryMark {
        let mark = turn.mark;
        let noted = self.memory.noted().incarnations.get(&turn.instance).copied();
        let incarnation = noted.unwrap_or(mark.incarnation);
        let events = self.inner.read(&turn.instance).await.unwrap_or_default();
        let event_id = events.last().map_or(0, |event| event.event_id);
        let execution_id = events.last().map_or(1, |event| event.execution_id);
        match self.fault() {
            Some(Fault::DirectMarkIgnored) => HistoryMark::new(incarnation)
                .with_execution_id(execution_id)
                .with_event_id(event_id),
            Some(Fault::DirectEventIgnored) => mark.with_event_id(event_id),
            Some(Fault::DirectExecutionIgnored) => mark.with_execution_id(execution_id),
            Some(Fault::DirectIncarnationIgnored) => mark.with_incarnation(incarnation),
            Some(Fault::DirectCommitIgnored) => mark.with_commit_id(None),
            _other => mark,
        }
    }

    async fn distort_direct(&self, turn: &mut DirectTurn) {
        let commit = &mut turn.commit;
        match self.fault() {
            // No history ends at this event, so the turn is always refused.
            Some(Fault::DirectNever) => turn.mark.event_id = u64::MAX,
            Some(Fault::DirectWorkNotRemoved) => turn.finished_work.clear(),
            Some(Fault::DirectCancelIgnored) => commit.cancelled_activities.clear(),
            Some(Fault::DirectWorkLost) => commit.activities.clear(),
            Some(Fault::DirectMessagesLost) => {
                commit.own_messages.clear();
                commit.outgoing_messages.clear();
            }
            Some(Fault::DirectStatusLost) => {
                (commit.metadata.status, commit.metadata.output) = (None, None);
            }
            Some(Fault::DirectPinLost) => commit.metadata.pinned_duroxide_version = None,
            Some(Fault::DirectLostLeaseAccepted) => {
                let mut live = Vec::new();
                for token in turn.finished_work.drain(..) {
                    if self.inner.renew_work_item_lock(&token, AGES).await.is_ok() {
                        live.push(token);
                    }
                }
                turn.finished_work = live;
            }
            Some(Fault::DirectSessionUntouched) => {
                // Cancelling also removes an activity, but does not count as a use of its session.
                let noted = self.memory.noted();
                let known = turn.finished_work.iter().filter_map(|token| noted.work.get(token));
                commit.cancelled_activities.extend(known.cloned());
                turn.finished_work.retain(|token| !noted.work.contains_key(token));
            }
            _other => {}
        }
    }

    /// Removes the lease or the messages that would refuse a turn, if the fault ignores them.
    async fn remove_obstacles(&self, instance: &str) -> Result<bool, ProviderError> {
        if self.has(Fault::DirectLockIgnored) {
            let held: Vec<_> = {
                let noted = self.memory.noted();
                let tokens = noted.instances.iter().filter(|(_, of)| *of == instance);
                tokens.map(|(token, _)| token.clone()).collect()
            };
            for lock_token in held {
                let execution_id = 1;
                let empty = TurnCommit::new(lock_token, execution_id);
                // Most of these leases were committed earlier.
                if self.inner.commit_turn(Arc::new(empty)).await.is_ok() {
                    return Ok(true);
                }
            }
        }
        if self.has(Fault::DirectMessagesIgnored) {
            let next = self.inner.fetch_orchestration_item(AGES, Duration::ZERO, None).await?;
            let Some((item, token, _)) = next else { return Ok(false) };
            let own = item.instance == instance;
            let delay = own.then_some(Duration::from_millis(1));
            self.inner.abandon_orchestration_item(&token, delay, true).await?;
            return Ok(own);
        }
        Ok(false)
    }

    async fn counted(
        &self,
        asked: DirectTurn,
        committed: CommittedTurn,
    ) -> Result<CommittedTurn, ProviderError> {
        self.memory.noted().direct.push((asked.instance.clone(), asked.mark));
        self.note_incarnation(Some(asked.instance.clone()), &committed);
        if self.has(Fault::DirectWorkNotified) {
            for _ in asked.finished_work {
                let message = WorkItem::ActivityCompleted {
                    instance: asked.instance.clone(),
                    execution_id: 1,
                    id: 2,
                    result: String::new(),
                };
                self.inner.enqueue_for_orchestrator(message, None).await?;
            }
        }
        let lost = self.has(Fault::DirectIncarnationLost);
        let incarnation = committed.incarnation.filter(|_| !lost);
        Ok(committed.with_incarnation(incarnation))
    }

    async fn refused(&self, asked: DirectTurn) -> Commit {
        if self.has(Fault::DirectRefusedEnqueues) {
            for activity in asked.commit.activities {
                self.inner.enqueue_for_worker(activity.item).await?;
            }
        }
        let again = self.memory.noted().direct.contains(&(asked.instance, asked.mark));
        Ok((again && self.has(Fault::DirectTwice)).then(CommittedTurn::default))
    }

    async fn failed(&self, asked: DirectTurn, error: ProviderError) -> Commit {
        match self.fault() {
            Some(Fault::DirectHalfFinished) => {
                for token in &asked.finished_work {
                    // One of them caused the failure.
                    if let Err(_lost) = self.inner.ack_work_item(token, None).await {}
                }
            }
            Some(Fault::DirectHalfSent) => {
                for item in asked.commit.messages() {
                    self.inner.enqueue_for_orchestrator(item.clone(), None).await?;
                }
            }
            Some(Fault::DirectHalfStored) => {
                let mut half = asked.with_finished_work(Vec::new());
                half.commit.activities.clear();
                half.commit.own_messages.clear();
                half.commit.outgoing_messages.clear();
                half.commit.metadata = ExecutionMetadata::default();
                if let Err(_unstorable) = self.inner.commit_direct_turn(Arc::new(half)).await {}
            }
            Some(Fault::DirectFailureRetryable) => {
                return Err(ProviderError::retryable("commit_direct_turn", error.message));
            }
            _other => {}
        }
        Err(error)
    }
}
