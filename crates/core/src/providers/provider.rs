//! The storage contract.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;

use super::kit::read_status_in_two_calls;
use super::{
    ActivityProgress, ChangeScope, ChangeWatch, ClientMessage, CommittedTurn, Delivery, DirectTurn,
    DispatcherCapabilityFilter, ExecutionMetadata, FetchedTurn, FetchedWork, InstanceOutcome,
    InstanceStatus, LeaseHolder, OrchestrationItem, OverdueFetch, ProviderAdmin,
    ProviderCapabilities, ProviderError, ScheduledActivityIdentifier, SessionFetchConfig,
    TagFilter, TurnCommit, TurnFetch, TurnState, WorkFetch, WorkerAnnouncement, defaults,
    turn_state,
};
use crate::clock::{Clock, SystemClock};
use crate::model::{Event, SystemStats, WorkItem};

/// For signatures that fit a line.
type Res<T> = Result<T, ProviderError>;

/// Keeps history, the two queues, leases, sessions, key-value state and status.
///
/// A provider stores and never decides: ids, events and messages come from the runtime. Every
/// operation is atomic, and an `Ok` means that the change is durable.
///
/// The methods after [`get_instance_stats`](Self::get_instance_stats) have default
/// implementations built on the ones before; a provider overrides them to be fast.
#[async_trait]
pub trait Provider: Any + Send + Sync {
    /// The provider that this one decorates. Every method with a default forwards to it, so a
    /// decorator overrides only the calls that it changes; see
    /// [`forward_provider!`](crate::forward_provider) for the methods without a default.
    fn inner(&self) -> Option<&dyn Provider> {
        None
    }

    /// Label for logs.
    fn name(&self) -> &str {
        if let Some(inner) = self.inner() {
            return inner.name();
        }
        "unknown"
    }

    /// Label for logs.
    fn version(&self) -> &str {
        if let Some(inner) = self.inner() {
            return inner.version();
        }
        "0.0.0"
    }

    #[doc = include_str!("contract/fetch_orchestration_item.md")]
    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError>;

    /// Commits one turn. History, queues and metadata change together or not at all.
    ///
    /// - A wrong or expired token changes nothing and fails permanently.
    /// - An event id that is already stored fails and changes nothing; the lease is still held.
    /// - Only messages tagged by this token are removed; later arrivals belong to the next turn.
    /// - `cancelled_activities` are removed after `worker_items` are inserted.
    async fn ack_orchestration_item(
        &self,
        lock_token: &str,
        execution_id: u64,
        history_delta: Vec<Event>,
        worker_items: Vec<WorkItem>,
        orchestrator_items: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError>;

    /// Releases a turn.
    ///
    /// - `delay` hides, and `ignore_attempt` un-counts, only messages tagged by this token.
    /// - An unknown token is an error.
    async fn abandon_orchestration_item(
        &self,
        lock_token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError>;

    /// History of the latest execution, ordered; empty for an unknown instance. A row that cannot
    /// be decoded is an error, never left out.
    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError>;

    /// History of one execution, with the same promises as [`read`](Self::read).
    async fn read_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError>;

    /// Appends events as they are. For seeding and tests.
    async fn append_with_execution(
        &self,
        instance: &str,
        execution_id: u64,
        new_events: Vec<Event>,
    ) -> Result<(), ProviderError>;

    /// Enqueues an activity, visible at once.
    async fn enqueue_for_worker(&self, item: WorkItem) -> Result<(), ProviderError>;

    /// Leases the oldest eligible activity.
    ///
    /// - Eligible: visible, not leased, its tag fits, and its session is free or owned by the
    ///   caller. Without `session`, only activities that have none.
    /// - Leasing an activity of a session leases the session to the caller.
    /// - The attempt count grows by one and is returned.
    /// - The future may be dropped at any await.
    async fn fetch_work_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        session: Option<&SessionFetchConfig>,
        tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError>;

    /// Removes an activity and, with `completion`, sends it to its orchestration; both or neither.
    /// A lost lease is a permanent error.
    async fn ack_work_item(
        &self,
        token: &str,
        completion: Option<WorkItem>,
    ) -> Result<(), ProviderError>;

    /// Extends the lease of an activity from now. An error says that the lease is lost: the
    /// activity was cancelled or another worker holds it.
    async fn renew_work_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError>;

    /// Extends the live sessions of these owners that were used within `idle_timeout`. Returns
    /// how many.
    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError>;

    /// Removes expired sessions that have no queued work. Returns how many.
    async fn cleanup_orphaned_sessions(
        &self,
        idle_timeout: Duration,
    ) -> Result<usize, ProviderError>;

    /// Releases an activity, hidden for `delay`; `ignore_attempt` un-counts the fetch.
    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError>;

    /// Extends the lease of a turn from now. A lost lease is an error.
    async fn renew_orchestration_item_lock(
        &self,
        token: &str,
        extend_for: Duration,
    ) -> Result<(), ProviderError>;

    /// Enqueues a message, hidden for `delay`. Never creates an instance.
    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError>;

    /// Enqueues a message of a client, visible at once.
    ///
    /// - The same id twice for one instance has one effect within
    ///   [`MESSAGE_ID_WINDOW`](super::MESSAGE_ID_WINDOW). The default knows no ids.
    /// - With `existing_only`, only if the instance exists or its start is queued.
    /// - A start only if the instance neither exists nor has a queued start: of two callers, one
    ///   starts it. A repeated id comes first. The default does not see a queued start.
    async fn send_message(&self, message: ClientMessage) -> Res<Delivery> {
        if let Some(inner) = self.inner() {
            return inner.send_message(message).await;
        }
        defaults::send_message(self, message).await
    }

    /// The management side, if the provider has one.
    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        if let Some(inner) = self.inner() {
            return inner.as_management_capability();
        }
        None
    }

    /// Custom status and its version, if the version is above `last_seen_version`.
    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError>;

    /// One live value, with the writes of the running execution.
    async fn get_kv_value(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<String>, ProviderError>;

    /// All live values, with the writes of the running execution.
    async fn get_kv_all_values(
        &self,
        instance: &str,
    ) -> Result<HashMap<String, String>, ProviderError>;

    /// Size of an instance; `None` if it is unknown.
    async fn get_instance_stats(&self, instance: &str) -> Res<Option<SystemStats>>;

    /// What the provider can do beyond the methods without a default.
    ///
    /// Without `StartLimits`, limits are ignored and
    /// [`fetch_overdue_work`](Self::fetch_overdue_work) is never called; without `DirectTurns`,
    /// neither is [`commit_direct_turn`](Self::commit_direct_turn).
    fn capabilities(&self) -> ProviderCapabilities {
        if let Some(inner) = self.inner() {
            return inner.capabilities();
        }
        ProviderCapabilities::default()
    }

    /// The clock that times the turns of `instance`: their events, timers and values.
    ///
    /// A store on several servers returns the clock of the server that has the routing key of the
    /// instance. A decorator that overrides [`clock`](Self::clock) overrides this too.
    fn clock_of(&self, instance: &str) -> Arc<dyn Clock> {
        if let Some(inner) = self.inner() {
            return inner.clock_of(instance);
        }
        self.clock()
    }

    /// The clock that leases and visibility are judged by.
    fn clock(&self) -> Arc<dyn Clock> {
        if let Some(inner) = self.inner() {
            return inner.clock();
        }
        Arc::new(SystemClock)
    }

    /// Like [`fetch_orchestration_item`](Self::fetch_orchestration_item) for several instances at
    /// once. Waits for the first, adds what else is ready, and leaves out history that the caller
    /// holds.
    async fn fetch_orchestration_items(&self, request: TurnFetch<'_>) -> Res<Vec<FetchedTurn>> {
        if let Some(inner) = self.inner() {
            return inner.fetch_orchestration_items(request).await;
        }
        defaults::fetch_turn(self, request).await
    }

    /// Reads what a fetch left out of a turn, although the caller does not hold it. The caller has
    /// the lease of the instance. A history that cannot be decoded comes back as `history_error`.
    async fn read_turn_state(&self, instance: &str, execution_id: u64) -> Res<TurnState> {
        if let Some(inner) = self.inner() {
            return inner.read_turn_state(instance, execution_id).await;
        }
        turn_state::read(self, instance, execution_id).await
    }

    /// Like [`ack_orchestration_item`](Self::ack_orchestration_item), with a result that lets the
    /// caller leave out known history in later fetches.
    ///
    /// - Activities that ask for a [`lease`](super::ScheduledActivity::lease) are enqueued as if
    ///   the caller had fetched them at this moment, if the provider can do that.
    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Result<CommittedTurn, ProviderError> {
        if let Some(inner) = self.inner() {
            return inner.commit_turn(commit).await;
        }
        defaults::commit_turn(self, &commit).await
    }

    /// Commits a turn that was not fetched, and removes the activities that it completes.
    ///
    /// - `None`, and nothing is changed, unless the stored history ends exactly at the mark, no one
    ///   holds the instance, and none of its messages is visible: those come first.
    /// - A lost lease of a finished activity is a permanent error and changes nothing.
    /// - Otherwise like [`commit_turn`](Self::commit_turn).
    async fn commit_direct_turn(&self, turn: Arc<DirectTurn>) -> Res<Option<CommittedTurn>> {
        match self.inner() {
            Some(inner) => inner.commit_direct_turn(turn).await,
            None => Ok(None),
        }
    }

    /// Like [`fetch_work_item`](Self::fetch_work_item) for several slots at once. Waits for the
    /// first activity and adds what else is ready; each slot gets at most one.
    async fn fetch_work_items(&self, request: WorkFetch<'_>) -> Res<Vec<FetchedWork>> {
        if let Some(inner) = self.inner() {
            return inner.fetch_work_items(request).await;
        }
        defaults::fetch_work(self, request).await
    }

    /// A watch that sees every later change in `scope`; `None` if the provider cannot notify and
    /// has to be polled.
    fn watch(&self, scope: ChangeScope<'_>) -> Option<ChangeWatch> {
        match self.inner() {
            Some(inner) => inner.watch(scope),
            None => None,
        }
    }

    /// Which of these tokens, and only these, no longer hold an activity: it was cancelled, or
    /// another worker holds it. The node that runs the activities asks after a change in
    /// [`ChangeScope::WorkLocks`]. The default names none; the next renewal detects the loss.
    async fn find_lost_work_locks(&self, tokens: &[String]) -> Result<Vec<String>, ProviderError> {
        match self.inner() {
            Some(inner) => inner.find_lost_work_locks(tokens).await,
            None => Ok(Vec::new()),
        }
    }

    /// Extends the lease of a turn from now, also an expired one, unless another caller has claimed
    /// the turn since; that is a lost lease. The default refuses an expired lease.
    async fn reclaim_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Res<()> {
        match self.inner() {
            Some(inner) => inner.reclaim_orchestration_item_lock(token, extend_for).await,
            None => self.renew_orchestration_item_lock(token, extend_for).await,
        }
    }

    /// Extends the lease of an activity from now, also an expired one, unless another worker has
    /// claimed the activity since. Its session is in use again, unless another owner has claimed
    /// that since.
    async fn reclaim_work_item_lock(&self, token: &str, extend_for: Duration) -> Res<()> {
        if let Some(inner) = self.inner() {
            return inner.reclaim_work_item_lock(token, extend_for).await;
        }
        self.renew_work_item_lock(token, extend_for).await
    }

    /// Adds to the leases of an activity whose holder vouches for it: the activity has run for a
    /// while, and its node is alive. Returns how many there are, this addition included. The
    /// default keeps none, so that every lost lease counts as an attempt.
    async fn vouch_for_work_item(&self, token: &str, leases: u32) -> Res<u32> {
        match self.inner() {
            Some(inner) => inner.vouch_for_work_item(token, leases).await,
            None => Ok(0),
        }
    }

    #[doc = include_str!("contract/mark_turn_running.md")]
    async fn mark_turn_running(&self, token: &str, running: bool) -> Result<u32, ProviderError> {
        match self.inner() {
            Some(inner) => inner.mark_turn_running(token, running).await,
            None => Ok(0),
        }
    }

    #[doc = include_str!("contract/suspend_turn.md")]
    async fn suspend_turn(&self, token: &str, reason: &str) -> Res<()> {
        match self.inner() {
            Some(inner) => inner.suspend_turn(token, reason).await,
            None => defaults::refuse_suspension(),
        }
    }

    /// Lets instances that replay suspended take their next turn now; returns how many.
    async fn retry_suspended(&self) -> Result<u64, ProviderError> {
        match self.inner() {
            Some(inner) => inner.retry_suspended().await,
            None => Ok(0),
        }
    }

    /// How the latest execution stands, without reading more history than needed.
    async fn read_outcome(&self, instance: &str) -> Result<InstanceOutcome, ProviderError> {
        if let Some(inner) = self.inner() {
            return inner.read_outcome(instance).await;
        }
        defaults::read_outcome(self, instance).await
    }

    /// How the latest execution stands, with the custom status: what a waiting client reads at each
    /// poll. The default calls [`read_outcome`](Self::read_outcome) and
    /// [`get_custom_status`](Self::get_custom_status).
    async fn read_status(&self, instance: &str) -> Result<InstanceStatus, ProviderError> {
        if let Some(inner) = self.inner() {
            return inner.read_status(instance).await;
        }
        read_status_in_two_calls(self, instance).await
    }

    /// The start event of the latest execution, without the rest of its history.
    async fn read_start_event(&self, instance: &str) -> Result<Option<Event>, ProviderError> {
        if let Some(inner) = self.inner() {
            return inner.read_start_event(instance).await;
        }
        Ok(self.read(instance).await?.into_iter().find(Event::is_start))
    }

    #[doc = include_str!("contract/fetch_overdue_work.md")]
    async fn fetch_overdue_work(&self, request: OverdueFetch) -> Res<Vec<FetchedWork>> {
        match self.inner() {
            Some(inner) => inner.fetch_overdue_work(request).await,
            None => Ok(Vec::new()),
        }
    }

    /// Like [`abandon_work_item`](Self::abandon_work_item) for an activity whose handler was not
    /// called: its schedule-to-start limit continues as if this lease had never existed.
    async fn return_unstarted_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        if let Some(inner) = self.inner() {
            return inner.return_unstarted_work_item(token, delay, ignore_attempt).await;
        }
        self.abandon_work_item(token, delay, ignore_attempt).await
    }

    /// Keeps the progress that an activity reports, in place of its last report.
    ///
    /// - Needs a live lease; a lost one is a permanent error and changes nothing.
    /// - Survives the expiry of the lease, and is removed with the activity.
    async fn record_activity_progress(&self, token: &str, progress: &str) -> Res<()> {
        if let Some(inner) = self.inner() {
            return inner.record_activity_progress(token, progress).await;
        }
        defaults::refuse_progress(token, progress)
    }

    /// The last reports of the unfinished activities of an instance, by execution and activity.
    async fn read_activity_progress(&self, instance: &str) -> Res<Vec<ActivityProgress>> {
        match self.inner() {
            Some(inner) => inner.read_activity_progress(instance).await,
            None => Ok(Vec::new()),
        }
    }

    /// Records that a node runs activities, until it expires or is withdrawn.
    async fn announce_worker(&self, announcement: &WorkerAnnouncement) -> Res<()> {
        match self.inner() {
            Some(inner) => inner.announce_worker(announcement).await,
            None => Ok(()),
        }
    }

    /// Records that a node runs no more activities. An unknown one is no error.
    async fn withdraw_worker(&self, node_id: &str) -> Result<(), ProviderError> {
        match self.inner() {
            Some(inner) => inner.withdraw_worker(node_id).await,
            None => Ok(()),
        }
    }

    /// Adds a node of this process: a fetch extends the expired leases that it holds, and does not
    /// claim their work.
    fn add_lease_holder(&self, holder: Weak<dyn LeaseHolder>) {
        if let Some(inner) = self.inner() {
            return inner.add_lease_holder(holder);
        }
        drop(holder);
    }

    /// Leaves the store in a state in which a copy of its files is complete and the process may
    /// exit: fetches that were dropped hold no leases any more.
    ///
    /// - Called by a node at the end of its shutdown. Other callers may go on using the store.
    /// - Waits for others for a moment only; an error means that nothing is lost.
    async fn checkpoint(&self) -> Result<(), ProviderError> {
        if let Some(inner) = self.inner() {
            return inner.checkpoint().await;
        }
        Ok(())
    }

    /// Stops the threads, tasks and connections of this provider, and returns when they have ended.
    ///
    /// - Calls that wait get an error, as do all later ones. What was acknowledged stays stored.
    /// - May be called again, and by several callers at once. The default does nothing.
    async fn close(&self) -> Result<(), ProviderError> {
        if let Some(inner) = self.inner() {
            return inner.close().await;
        }
        Ok(())
    }
}
