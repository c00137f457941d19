//! The provider: one mutex, one clock, and a hub that notifies waiters of changes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::clock::millis;
use duroxide_core::providers::{
    ActivityProgress, ChangeHub, ChangeScope, ChangeWatch, ClientMessage, Clock, CommittedTurn,
    Delivery, DirectTurn, DispatcherCapabilityFilter, ExecutionMetadata, FetchFilter, FetchedTurn,
    FetchedWork, InstanceOutcome, LeaseHolder, LeaseHolders, OrchestrationItem, OverdueFetch,
    Provider, ProviderAdmin, ProviderCapabilities, ProviderError, ScheduledActivityIdentifier,
    SessionFetchConfig, SystemClock, TagFilter, TurnCommit, TurnFetch, WorkFetch, WorkItem,
    WorkSlot, WorkerAnnouncement,
};
use duroxide_core::{Event, SystemStats};

use super::fetch_wait::{self, Polled};
use super::orchestrator_queue::{self, NewMessage};
use super::refusal::Refusal;
use super::sessions::{self, Renewal};
use super::store::Store;
use super::turn_lock::{self, Abandonment};
use super::worker_queue::{self, NewWork};
use super::{
    attempts, capabilities, commit, direct_turn, history, inspect, progress, start_limits,
    suspension, workers,
};

/// Keeps everything in memory. The contract in its plainest form.
#[derive(Debug)]
pub struct MemoryProvider {
    store: Mutex<Store>,
    clock: Arc<dyn Clock>,
    hub: ChangeHub,
    holders: LeaseHolders,
}

impl Default for MemoryProvider {
    fn default() -> Self {
        Self::new(Arc::new(SystemClock))
    }
}

impl MemoryProvider {
    /// An empty store whose leases and delays use `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        let (hub, holders) = (ChangeHub::default(), LeaseHolders::default());
        Self { store: Mutex::default(), clock, hub, holders }
    }

    /// Makes every stored event of an instance unreadable, as a fault of the disk would.
    pub fn corrupt_history(&self, instance: &str) {
        if let Some(record) = self.store().records.get_mut(instance) {
            for event in record.history.values_mut().flat_map(|events| events.values_mut()) {
                event.corrupt();
            }
        }
    }

    /// Lets turns take all visible messages, as a provider without bounds does.
    pub fn lift_turn_bounds(&self) {
        self.store().unbounded_turns = true;
    }

    /// The highest attempt count among the messages of an instance.
    pub fn attempt_count_max(&self, instance: &str) -> u32 {
        inspect::attempt_count_max(&self.store(), instance)
    }

    pub(crate) fn store(&self) -> MutexGuard<'_, Store> {
        // A panic cannot have left half a change: operations check first and then only assign.
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hub(&self) -> &ChangeHub {
        &self.hub
    }

    pub(crate) fn clock_ref(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// Runs one operation and notifies every waiter. The kit's `Changes` would spare needless
    /// polls; without it no rule of this provider can forget a waiter.
    pub(crate) fn change<T>(
        &self,
        operation: &str,
        run: impl FnOnce(&mut Store, u64) -> Result<T, Refusal>,
    ) -> Result<T, ProviderError> {
        let result = run(&mut self.store(), self.clock.now_ms());
        let changed = result.map_err(|refusal| refusal.during(operation))?;
        self.hub.notify_all();
        Ok(changed)
    }

    pub(crate) fn holders(&self) -> &LeaseHolders {
        &self.holders
    }
}

#[async_trait]
impl Provider for MemoryProvider {
    fn name(&self) -> &str {
        "memory"
    }

    fn version(&self) -> &str {
        env!("CARGO_PKG_VERSION")
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        let filter = FetchFilter::from(filter);
        let request =
            TurnFetch::new(1, lock_timeout).with_poll_timeout(poll_timeout).with_filter(&filter);
        let first = self.fetch_turns(request).await.pop();
        Ok(first.map(|turn| (turn.item, turn.lock_token, turn.attempt_count)))
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
        let turn = TurnCommit::new(lock_token.to_owned(), execution_id)
            .with_history_delta(history_delta)
            .with_activities(worker_items)
            .with_outgoing_messages(orchestrator_items)
            .with_metadata(metadata)
            .with_cancelled_activities(cancelled_activities);
        self.change("ack_orchestration_item", |store, now| {
            commit::commit_turn(store, now, &turn).map(drop)
        })
    }

    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let how = Abandonment { delay: delay.map(millis), ignore_attempt };
        self.change("abandon_orchestration_item", |store, now| {
            turn_lock::abandon(store, now, lock_token, how)
        })
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        let store = self.store();
        let read = history::read(&store, instance, store.latest_execution(instance));
        read.map_err(|refusal| refusal.during("read"))
    }

    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        let read = history::read(&self.store(), instance, execution_id);
        read.map_err(|refusal| refusal.during("read_with_execution"))
    }

    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        self.change("append_with_execution", |store, _now| {
            let events = history::encode(&new_events)?;
            history::check_new(store, instance, execution_id, &events)?;
            history::append(store, instance, execution_id, events);
            // Parked messages of the instance can be delivered now: its history names the
            // orchestration.
            orchestrator_queue::unpark(store, instance);
            Ok(())
        })
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError> {
        self.change("enqueue_for_worker", |store, now| {
            worker_queue::insert(store, now, NewWork::encode(&item)?);
            Ok(())
        })
    }

    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        let slots = [WorkSlot::new(session.cloned())];
        let filter = FetchFilter::from(tag_filter);
        let request = WorkFetch::new(&slots, lock_timeout)
            .with_poll_timeout(poll_timeout)
            .with_filter(&filter);
        let first = self.fetch_work(request).await.pop();
        Ok(first.map(|work| (work.item, work.lock_token, work.attempt_count)))
    }

    async fn ack_work_item(
        &self,
        token: &str,
        completion: Option<WorkItem>,
    ) -> Result<(), ProviderError> {
        self.change("ack_work_item", |store, now| {
            let message = completion.as_ref().map(NewMessage::encode_completion).transpose()?;
            worker_queue::finish(store, now, token, message)
        })
    }

    async fn renew_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.change("renew_work_item_lock", |store, now| {
            worker_queue::renew(store, now, token, millis(extend_for))
        })
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        let renewal =
            Renewal { extend_for: millis(extend_for), idle_timeout: millis(idle_timeout) };
        self.change("renew_session_lock", |store, now| {
            Ok(sessions::renew(store, now, owner_ids, renewal))
        })
    }

    async fn cleanup_orphaned_sessions(
        &self,
        _idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        // An idle session is no longer renewed, so it has expired when it can be removed.
        self.change("cleanup_orphaned_sessions", |store, now| Ok(sessions::cleanup(store, now)))
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let how = Abandonment { delay: delay.map(millis), ignore_attempt };
        self.change("abandon_work_item", |store, now| worker_queue::abandon(store, now, token, how))
    }

    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.change("renew_orchestration_item_lock", |store, now| {
            turn_lock::renew(store, now, token, millis(extend_for))
        })
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        self.change("enqueue_for_orchestrator", |store, now| {
            let visible_at = now.saturating_add(delay.map_or(0, millis));
            orchestrator_queue::insert(store, now, NewMessage::encode(&item)?, visible_at);
            Ok(())
        })
    }

    async fn send_message(&self, message: ClientMessage) -> Result<Delivery, ProviderError> {
        self.change("send_message", |store, now| orchestrator_queue::send(store, now, &message))
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        Some(self)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        Ok(inspect::custom_status(&self.store(), instance, last_seen_version))
    }

    async fn get_kv_value(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<String>, ProviderError> {
        Ok(self.get_kv_all_values(instance).await?.remove(key))
    }

    async fn get_kv_all_values(
        &self,
        instance: &str,
    ) -> Result<HashMap<String, String>, ProviderError> {
        let store = self.store();
        Ok(store.records.get(instance).map(|record| record.values.live()).unwrap_or_default())
    }

    async fn get_instance_stats(
        &self,
        instance: &str,
    ) -> Result<Option<SystemStats>, ProviderError> {
        let stats = inspect::stats(&self.store(), instance);
        stats.map_err(|refusal| refusal.during("get_instance_stats"))
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    async fn fetch_orchestration_items(
        &self,
        request: TurnFetch<'_>,
    ) -> Result<Vec<FetchedTurn>, ProviderError> {
        Ok(self.fetch_turns(request).await)
    }

    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Result<CommittedTurn, ProviderError> {
        self.change("commit_turn", |store, now| commit::commit_turn(store, now, &commit))
    }

    fn capabilities(&self) -> ProviderCapabilities {
        capabilities::all()
    }

    async fn commit_direct_turn(
        &self,
        turn: Arc<DirectTurn>,
    ) -> Result<Option<CommittedTurn>, ProviderError> {
        self.change("commit_direct_turn", |store, now| {
            direct_turn::commit_direct_turn(store, now, &turn)
        })
    }

    async fn fetch_work_items(
        &self,
        request: WorkFetch<'_>,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        Ok(self.fetch_work(request).await)
    }

    fn watch(&self, scope: ChangeScope<'_>) -> Option<ChangeWatch> {
        Some(self.hub.watch(scope))
    }

    fn add_lease_holder(&self, holder: Weak<dyn LeaseHolder>) {
        self.holders.add(holder);
    }

    async fn suspend_turn(&self, token: &str, reason: &str) -> Result<(), ProviderError> {
        self.change("suspend_turn", |store, now| {
            suspension::suspend_turn(store, now, token, reason)
        })
    }

    async fn retry_suspended(&self) -> Result<u64, ProviderError> {
        self.change("retry_suspended", |store, now| Ok(suspension::retry_all(store, now)))
    }

    async fn reclaim_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.change("reclaim_orchestration_item_lock", |store, now| {
            turn_lock::reclaim(store, now, token, millis(extend_for))
        })
    }

    async fn reclaim_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError> {
        self.change("reclaim_work_item_lock", |store, now| {
            worker_queue::reclaim(store, now, token, millis(extend_for))
        })
    }

    async fn vouch_for_work_item(&self, token: &str, leases: u32) -> Result<u32, ProviderError> {
        self.change("vouch_for_work_item", |store, _now| attempts::vouch(store, token, leases))
    }

    async fn mark_turn_running(&self, token: &str, running: bool) -> Result<u32, ProviderError> {
        self.change("mark_turn_running", |store, _now| attempts::mark(store, token, running))
    }

    async fn find_lost_work_locks(&self, tokens: &[String]) -> Result<Vec<String>, ProviderError> {
        Ok(worker_queue::find_lost(&self.store(), tokens))
    }

    async fn read_outcome(&self, instance: &str) -> Result<InstanceOutcome, ProviderError> {
        let outcome = history::outcome(&self.store(), instance);
        outcome.map_err(|refusal| refusal.during("read_outcome"))
    }

    async fn read_start_event(&self, instance: &str) -> Result<Option<Event>, ProviderError> {
        let start = history::start_event(&self.store(), instance);
        start.map_err(|refusal| refusal.during("read_start_event"))
    }

    async fn fetch_overdue_work(
        &self,
        request: OverdueFetch,
    ) -> Result<Vec<FetchedWork>, ProviderError> {
        if request.work_max == 0 {
            return Ok(Vec::new());
        }
        let (work_max, lock_for) = (request.work_max, millis(request.lock_timeout));
        let poll = || {
            let (mut store, now) = (self.store(), self.clock.now_ms());
            let found = start_limits::fetch_overdue(&mut store, now, work_max, lock_for);
            Polled { found, next_due: start_limits::next_due(&store, now) }
        };
        Ok(fetch_wait::fetch(self, ChangeScope::StartLimits, request.poll_timeout, poll).await)
    }

    async fn return_unstarted_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        let how = Abandonment { delay: delay.map(millis), ignore_attempt };
        self.change("return_unstarted_work_item", |store, now| {
            worker_queue::return_unstarted(store, now, token, how)
        })
    }

    async fn record_activity_progress(
        &self,
        token: &str,
        progress: &str,
    ) -> Result<(), ProviderError> {
        self.change("record_activity_progress", |store, now| {
            progress::record(store, now, token, progress)
        })
    }

    async fn read_activity_progress(
        &self,
        instance: &str,
    ) -> Result<Vec<ActivityProgress>, ProviderError> {
        Ok(progress::read(&self.store(), instance))
    }

    async fn announce_worker(
        &self,
        announcement: &WorkerAnnouncement,
    ) -> Result<(), ProviderError> {
        workers::announce(&mut self.store(), self.clock.now_ms(), announcement);
        Ok(())
    }

    async fn withdraw_worker(&self, node_id: &str) -> Result<(), ProviderError> {
        self.store().workers.remove(node_id);
        Ok(())
    }
}
