//! A correct provider that breaks one promise.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_conformance::reference::MemoryProvider;
use duroxide_core::providers::kit::read_status_in_two_calls;
use duroxide_core::providers::{
    ActivityProgress, ChangeHub, ChangeScope, ChangeWatch, ClientMessage, CommittedTurn, Delivery,
    DirectTurn, DispatcherCapabilityFilter, ExecutionMetadata, FetchedTurn, FetchedWork,
    InstanceOutcome, InstanceStatus, LeaseHolder, OrchestrationItem, OverdueFetch, Provider,
    ProviderAdmin, ProviderError, ScheduledActivityIdentifier, SessionFetchConfig, TagFilter,
    TurnCommit, TurnFetch, TurnState, WorkFetch, WorkItem, WorkerAnnouncement,
};
use duroxide_core::{Event, SystemStats};

use crate::fault::Fault;
use crate::memory::Memory;

/// Longer than any test: a lease of this length never expires.
pub(crate) const AGES: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// Forwards everything to a correct provider, except for one fault.
pub(crate) struct FaultyProvider {
    pub(crate) inner: Arc<MemoryProvider>,
    pub(crate) memory: Memory,
    fault: Option<Fault>,
    silent: ChangeHub,
}

impl FaultyProvider {
    /// Without a fault it keeps the contract.
    pub(crate) fn new(inner: Arc<MemoryProvider>, fault: Option<Fault>) -> Self {
        Self { inner, fault, memory: Memory::default(), silent: ChangeHub::default() }
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub(crate) fn faulty_poll(&self, poll_timeout: Duration) -> Duration {
        if self.has(Fault::PollReturnsAtOnce) { Duration::ZERO } else { poll_timeout }
    }
}

#[async_trait]
impl Provider for FaultyProvider {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    fn name(&self) -> &str {
        "faulty"
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        self.fetch_turn(lock_timeout, poll_timeout, filter).await
    }

    async fn ack_orchestration_item(
        &self,
        lock_token: &str,
        execution_id: u64,
        history_delta: Vec<Event>,
        worker_items: Vec<WorkItem>,
        orchestrator_items: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError> {
        let lock_token = lock_token.to_owned();
        self.ack(
            TurnCommit::new(lock_token, execution_id)
                .with_history_delta(history_delta)
                .with_activities(worker_items)
                .with_outgoing_messages(orchestrator_items)
                .with_metadata(metadata)
                .with_cancelled_activities(cancelled_activities),
        )
        .await
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        if self.has(Fault::AbandonKeepsLease) {
            return Ok(());
        }
        let delay = delay.filter(|_| !self.has(Fault::AbandonDelayIgnored));
        let undo = ignore_attempt && !self.has(Fault::AbandonAttemptCounted);
        let token = self.real_token(lock_token);
        let result = self.inner.abandon_orchestration_item(&token, delay, undo).await;
        if self.has(Fault::AbandonUnknownAccepted) { Ok(()) } else { result }
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        let read = match self.fault {
            Some(Fault::ReadFirstExecution) => self.inner.read_with_execution(instance, 1).await,
            _reads_well => self.inner.read(instance).await,
        };
        if self.has(Fault::ReadHidesCorruption) { Ok(read.unwrap_or_default()) } else { read }
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        let read = self.inner.read_with_execution(instance, execution_id).await;
        if self.has(Fault::ReadHidesCorruption) { Ok(read.unwrap_or_default()) } else { read }
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        self.fetch_work(lock_timeout, poll_timeout, session, tag_filter).await
    }

    async fn ack_work_item(
        &self,
        token: &str,
        completion: Option<WorkItem>,
    ) -> Result<(), ProviderError> {
        self.ack_work(token, completion).await
    }

    async fn renew_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.renew_work(token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        self.renew_sessions(owner_ids, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(
        &self,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        if self.has(Fault::SessionsNeverSwept) {
            return Ok(0);
        }
        self.inner.cleanup_orphaned_sessions(idle_timeout).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.abandon_work(token, delay, ignore_attempt).await
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        let token = self.real_token(token);
        if self.has(Fault::TurnRenewalWithoutEffect) {
            // Just long enough to check that the token is valid.
            let moment = Duration::from_millis(1);
            return self.inner.renew_orchestration_item_lock(&token, moment).await;
        }
        let result = self.inner.renew_orchestration_item_lock(&token, extend_for).await;
        let result = self.faulty_lease_kind(Fault::LostTurnRenewalWithoutKind, result);
        if self.has(Fault::TurnRenewalAlwaysSucceeds) { Ok(()) } else { result }
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        if self.faulty_useless(&item).await? {
            return Ok(());
        }
        let delay = delay.filter(|_| !self.has(Fault::EnqueueDelayIgnored));
        self.faulty_enqueue_kind(self.inner.enqueue_for_orchestrator(item, delay).await)
    }

    async fn suspend_turn(&self, token: &str, reason: &str) -> Result<(), ProviderError> {
        self.faulty_suspend_turn(&self.real_token(token), reason).await
    }

    async fn retry_suspended(&self) -> Result<u64, ProviderError> {
        self.faulty_retry().await
    }

    async fn send_message(&self, mut message: ClientMessage) -> Result<Delivery, ProviderError> {
        if self.has(Fault::StartAttributesLost) {
            message.attributes.clear();
        }
        self.faulty_send(message).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        let seen = if self.has(Fault::StatusSeenIgnored) { 0 } else { last_seen_version };
        let found = self.inner.get_custom_status(instance, seen).await?;
        Ok(match self.fault {
            Some(Fault::StatusVersionStuck) => found.map(|(status, _)| (status, 1)),
            _counts_well => found,
        })
    }

    async fn get_kv_value(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<String>, ProviderError> {
        self.value(instance, key).await
    }

    async fn get_kv_all_values(
        &self,
        instance: &str,
    ) -> Result<HashMap<String, String>, ProviderError> {
        let mut values = self.inner.get_kv_all_values(instance).await?;
        if self.has(Fault::ValuesIncomplete)
            && let Some(key) = values.keys().next().cloned()
        {
            values.remove(&key);
        }
        Ok(values)
    }

    async fn get_instance_stats(
        &self,
        instance: &str,
    ) -> Result<Option<SystemStats>, ProviderError> {
        self.stats(instance).await
    }

    async fn fetch_orchestration_items(
        &self,
        request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        self.fetch_batch(request).await
    }

    async fn read_turn_state(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<TurnState, ProviderError> {
        self.turn_state(instance, execution_id).await
    }

    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Result<CommittedTurn, ProviderError> {
        let instance = self.memory.noted().instances.get(&commit.lock_token).cloned();
        let committed = self.commit_leasing(TurnCommit::clone(&commit)).await?;
        self.note_incarnation(instance, &committed);
        Ok(committed)
    }

    async fn commit_direct_turn(
        &self,
        turn: Arc<DirectTurn>,
    ) -> Result<Option<CommittedTurn>, ProviderError> {
        self.commit_direct(DirectTurn::clone(&turn)).await
    }

    async fn fetch_work_items(
        &self,
        request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        self.fetch_work_batch(request).await
    }

    fn watch(&self, scope: ChangeScope<'_>) -> Option<ChangeWatch> {
        if self.has(Fault::WatchSilent) {
            return Some(self.silent.watch(scope));
        }
        self.inner.watch(scope)
    }

    fn add_lease_holder(&self, holder: Weak<dyn LeaseHolder>) {
        if !self.has(Fault::LeaseHoldersIgnored) {
            self.inner.add_lease_holder(holder);
        }
    }

    async fn reclaim_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.reclaim_turn(&self.real_token(token), extend_for).await
    }

    async fn reclaim_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.reclaim_work(token, extend_for).await
    }

    async fn vouch_for_work_item(&self, token: &str, leases: u32) -> Result<u32, ProviderError> {
        let kept = if self.has(Fault::VouchedLost) { 0 } else { leases };
        let vouched = self.inner.vouch_for_work_item(token, kept).await;
        if self.has(Fault::VouchedWithoutLease) { Ok(vouched.unwrap_or(0)) } else { vouched }
    }

    async fn mark_turn_running(&self, token: &str, running: bool) -> Result<u32, ProviderError> {
        self.mark_turn(&self.real_token(token), running).await
    }

    async fn find_lost_work_locks(&self, tokens: &[String]) -> Result<Vec<String>, ProviderError> {
        match self.fault {
            Some(Fault::LostLocksHidden) => Ok(Vec::new()),
            Some(Fault::HeldLocksLost) => Ok(tokens.to_vec()),
            _honest => self.inner.find_lost_work_locks(tokens).await,
        }
    }

    async fn checkpoint(&self) -> Result<(), ProviderError> {
        if self.has(Fault::CheckpointLosesMessages) {
            let fetched = self.inner.fetch_orchestration_item(AGES, Duration::ZERO, None).await?;
            drop(fetched);
        }
        Ok(())
    }

    async fn close(&self) -> Result<(), ProviderError> {
        let was_closed = std::mem::replace(&mut self.memory.noted().is_closed, true);
        if self.has(Fault::CloseOnlyOnce) && was_closed {
            return Err(ProviderError::permanent("close", "closed already"));
        }
        Ok(())
    }

    async fn read_outcome(&self, instance: &str) -> Result<InstanceOutcome, ProviderError> {
        let outcome = self.inner.read_outcome(instance).await?;
        Ok(match (self.fault, outcome) {
            (Some(Fault::OutcomeNeverEnds), InstanceOutcome::Ended(_)) => InstanceOutcome::Running,
            (_, outcome) => outcome,
        })
    }

    async fn read_start_event(&self, instance: &str) -> Result<Option<Event>, ProviderError> {
        let start = self.inner.read_start_event(instance).await?;
        Ok(start.filter(|_| !self.has(Fault::StartEventHidden)))
    }

    async fn fetch_overdue_work(
        &self,
        request: OverdueFetch,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        self.overdue(request).await
    }

    async fn return_unstarted_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        self.return_unstarted(token, delay, ignore_attempt).await
    }

    async fn record_activity_progress(
        &self,
        token: &str,
        progress: &str,
    ) -> Result<(), ProviderError> {
        self.report(token, progress).await
    }

    async fn read_activity_progress(
        &self,
        instance: &str,
    ) -> Result<Vec<ActivityProgress>, ProviderError> {
        let progress = self.inner.read_activity_progress(instance).await?;
        Ok(if self.has(Fault::ProgressHidden) { Vec::new() } else { progress })
    }

    async fn announce_worker(
        &self,
        announcement: &WorkerAnnouncement,
    ) -> Result<(), ProviderError> {
        self.announce(announcement).await
    }

    async fn withdraw_worker(&self, node_id: &str) -> Result<(), ProviderError> {
        if self.has(Fault::WithdrawalIgnored) {
            return Ok(());
        }
        self.inner.withdraw_worker(node_id).await
    }

    // As without a decorator: the status is read in two calls, either of which may fail.
    async fn read_status(&self, instance: &str) -> Result<InstanceStatus, ProviderError> {
        read_status_in_two_calls(self, instance).await
    }

    duroxide_core::forward_provider! { this => this.inner;
        append_with_execution, enqueue_for_worker,
    }
}
