//! A store that fails where a test requests it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use duroxide::Event;
use duroxide::providers::kit::read_status_in_two_calls;
use duroxide::providers::{
    ChangeScope, ChangeWatch, ClientMessage, CommittedTurn, Delivery, DirectTurn,
    DispatcherCapabilityFilter, FetchFilter, FetchedTurn, FetchedWork, InstanceOutcome,
    InstanceStatus, OrchestrationItem, Provider, ProviderAdmin, ProviderCapabilities,
    ProviderCapability, ProviderError, TurnCommit, TurnFetch, TurnState, WorkFetch, WorkItem,
};
use tokio::sync::Semaphore;

type Res<T> = Result<T, ProviderError>;

/// Counts turns that were released and are hidden now.
pub(crate) const RELEASED: &str = "released";

/// Fails a direct turn after it was committed.
pub(crate) const DIRECT_ANSWER: &str = "answer to a direct turn";
/// Counts direct turns that the store has taken.
pub(crate) const DIRECT_TAKEN: &str = "direct turn taken";
/// Counts direct turns that the store has refused.
pub(crate) const DIRECT_REFUSED: &str = "direct turn refused";

/// Counts activities that commits wanted to be leased.
pub(crate) const LEASES_ASKED: &str = "lease asked";

/// Counts activities that were leased by direct turns whose answer was lost.
pub(crate) const LEASES_LOST: &str = "lease lost";

/// Wraps a store. Chosen operations fail a number of times; all are counted.
pub(crate) struct Faulty {
    inner: Arc<dyn Provider>,
    state: Mutex<State>,
    /// Direct turns pass one permit at a time, if they are held.
    direct: Semaphore,
    /// Commits of fetched turns wait for it, if they are held.
    commits: Semaphore,
}

#[derive(Default)]
struct State {
    faults: HashMap<&'static str, (u32, ProviderError)>,
    panics: HashMap<&'static str, u32>,
    calls: HashMap<&'static str, u32>,
    refused_instance: Option<String>,
    ignores_filter: bool,
    watches: bool,
    manages: bool,
    takes_direct: bool,
    holds_direct: bool,
    holds_commits: bool,
    cancelled_at: Option<Instant>,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn Provider>) -> Arc<Self> {
        let state = State { watches: true, manages: true, takes_direct: true, ..State::default() };
        Arc::new(Self {
            inner,
            state: Mutex::new(state),
            direct: Semaphore::new(0),
            commits: Semaphore::new(0),
        })
    }

    /// Takes no direct turns: every result goes through the queue.
    pub(crate) fn fetched_turns_only(&self) {
        self.state.lock().unwrap().takes_direct = false;
    }

    /// Direct turns wait until they are let go, before anything is done.
    pub(crate) fn hold_direct_turns(&self) {
        self.state.lock().unwrap().holds_direct = true;
    }

    /// Lets direct turns go, also those to come.
    pub(crate) fn let_direct_turns_go(&self) {
        self.state.lock().unwrap().holds_direct = false;
        self.direct.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// Commits of fetched turns wait until they are let go, before anything is done.
    pub(crate) fn hold_commits(&self) {
        self.state.lock().unwrap().holds_commits = true;
    }

    /// Lets commits go, also those to come.
    pub(crate) fn let_commits_go(&self) {
        self.state.lock().unwrap().holds_commits = false;
        self.commits.add_permits(Semaphore::MAX_PERMITS / 2);
    }

    /// The next `times` calls fail.
    pub(crate) fn fail(&self, operation: &'static str, times: u32, error: ProviderError) {
        self.state.lock().unwrap().faults.insert(operation, (times, error));
    }

    /// The next `times` calls fail for a passing reason.
    pub(crate) fn hiccup(&self, operation: &'static str, times: u32) {
        self.fail(operation, times, ProviderError::retryable(operation, "hiccup"));
    }

    /// The next `times` calls panic.
    pub(crate) fn panic(&self, operation: &'static str, times: u32) {
        self.state.lock().unwrap().panics.insert(operation, times);
    }

    /// How often an operation is still to panic.
    pub(crate) fn panics_left(&self, operation: &'static str) -> u32 {
        self.state.lock().unwrap().panics.get(operation).copied().unwrap_or(0)
    }

    /// Refuses the next commit of one instance for good.
    pub(crate) fn refuse_commit_of(&self, instance: &str) {
        self.state.lock().unwrap().refused_instance = Some(instance.to_owned());
    }

    /// Returns executions that the caller cannot replay.
    pub(crate) fn ignore_filter(&self) {
        self.state.lock().unwrap().ignores_filter = true;
    }

    /// Notifies no watcher of changes.
    pub(crate) fn never_tell(&self) {
        self.state.lock().unwrap().watches = false;
    }

    /// When the last commit that cancels an activity was answered.
    pub(crate) fn cancelled_at(&self) -> Option<Instant> {
        self.state.lock().unwrap().cancelled_at
    }

    fn note_commit(&self, commit: &TurnCommit) {
        let leases = commit.activities.iter().filter(|activity| activity.lease.is_some()).count();
        let mut state = self.state.lock().unwrap();
        *state.calls.entry(LEASES_ASKED).or_default() += u32::try_from(leases).unwrap();
        if !commit.cancelled_activities.is_empty() {
            state.cancelled_at = Some(Instant::now());
        }
    }

    /// Has no management side.
    pub(crate) fn without_management(&self) {
        self.state.lock().unwrap().manages = false;
    }

    pub(crate) fn calls(&self, operation: &'static str) -> u32 {
        self.state.lock().unwrap().calls.get(operation).copied().unwrap_or(0)
    }

    fn enter(&self, operation: &'static str) -> Res<()> {
        let mut state = self.state.lock().unwrap();
        *state.calls.entry(operation).or_insert(0) += 1;
        if let Some(left) = state.panics.get_mut(operation).filter(|left| **left > 0) {
            *left -= 1;
            drop(state);
            panic!("{operation} panics");
        }
        match state.faults.get_mut(operation) {
            Some((left, error)) if *left > 0 => {
                *left -= 1;
                Err(error.clone())
            }
            _healthy => Ok(()),
        }
    }
}

#[async_trait]
impl Provider for Faulty {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    async fn fetch_orchestration_item(
        &self,
        lock_timeout: Duration,
        poll_timeout: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Res<Option<(OrchestrationItem, String, u32)>> {
        self.enter("fetch_orchestration_item")?;
        let filter = filter.filter(|_| !self.state.lock().unwrap().ignores_filter);
        self.inner.fetch_orchestration_item(lock_timeout, poll_timeout, filter).await
    }

    async fn abandon_orchestration_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Res<()> {
        self.enter("abandon_orchestration_item")?;
        self.inner.abandon_orchestration_item(token, delay, ignore_attempt).await?;
        self.enter(RELEASED)
    }

    async fn read(&self, instance: &str) -> Res<Vec<Event>> {
        self.enter("read")?;
        self.inner.read(instance).await
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Res<()> {
        self.enter("ack_work_item")?;
        self.inner.ack_work_item(token, completion).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Res<()> {
        self.enter("renew_work_item_lock")?;
        self.inner.renew_work_item_lock(token, extend_for).await
    }

    async fn renew_session_lock(
        &self,
        owner_ids: &[&str],
        extend_for: Duration,
        idle_timeout: Duration,
    ) -> Res<usize> {
        self.enter("renew_session_lock")?;
        self.inner.renew_session_lock(owner_ids, extend_for, idle_timeout).await
    }

    async fn cleanup_orphaned_sessions(&self, idle_timeout: Duration) -> Res<usize> {
        self.enter("cleanup_orphaned_sessions")?;
        self.inner.cleanup_orphaned_sessions(idle_timeout).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Res<()> {
        self.enter("abandon_work_item")?;
        self.inner.abandon_work_item(token, delay, ignore_attempt).await?;
        self.enter(RELEASED)
    }

    async fn renew_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Res<()> {
        self.enter("renew_orchestration_item_lock")?;
        self.inner.renew_orchestration_item_lock(token, extend_for).await
    }

    async fn enqueue_for_orchestrator(&self, item: WorkItem, delay: Option<Duration>) -> Res<()> {
        self.enter("enqueue_for_orchestrator")?;
        self.inner.enqueue_for_orchestrator(item, delay).await
    }

    fn as_management_capability(&self) -> Option<&dyn ProviderAdmin> {
        let manages = self.state.lock().unwrap().manages;
        self.inner.as_management_capability().filter(|_| manages)
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Res<Option<(Option<String>, u64)>> {
        self.enter("get_custom_status")?;
        self.inner.get_custom_status(instance, last_seen_version).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Res<Option<String>> {
        self.enter("get_kv_value")?;
        self.inner.get_kv_value(instance, key).await
    }

    async fn fetch_orchestration_items(&self, request: TurnFetch<'_>) -> Res<Vec<FetchedTurn>> {
        self.enter("fetch_orchestration_items")?;
        let everything = FetchFilter::everything();
        let ignores_filter = self.state.lock().unwrap().ignores_filter;
        let filter = if ignores_filter { &everything } else { request.filter };
        self.inner.fetch_orchestration_items(request.with_filter(filter)).await
    }

    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Res<CommittedTurn> {
        self.enter("commit_turn")?;
        if self.state.lock().unwrap().holds_commits {
            self.commits.acquire().await.unwrap().forget();
        }
        if commit.history_delta.iter().any(|event| {
            let refused = &mut self.state.lock().unwrap().refused_instance;
            refused.take_if(|refused| *refused == event.instance_id).is_some()
        }) {
            return Err(ProviderError::permanent("ack_orchestration_item", "refused"));
        }
        let committed = self.inner.commit_turn(Arc::clone(&commit)).await?;
        self.note_commit(&commit);
        Ok(committed)
    }

    fn capabilities(&self) -> ProviderCapabilities {
        let capabilities = self.inner.capabilities().without(ProviderCapability::StartLimits);
        match self.state.lock().unwrap().takes_direct {
            true => capabilities,
            false => capabilities.without(ProviderCapability::DirectTurns),
        }
    }

    async fn commit_direct_turn(&self, turn: Arc<DirectTurn>) -> Res<Option<CommittedTurn>> {
        self.enter("commit_direct_turn")?;
        if self.state.lock().unwrap().holds_direct {
            self.direct.acquire().await.unwrap().forget();
        }
        let committed = self.inner.commit_direct_turn(Arc::clone(&turn)).await?;
        self.note_commit(&turn.commit);
        self.enter(if committed.is_some() { DIRECT_TAKEN } else { DIRECT_REFUSED })?;
        self.enter(DIRECT_ANSWER).inspect_err(|_| {
            let leased = committed.as_ref().map_or(0, |committed| committed.leased.len());
            let mut state = self.state.lock().unwrap();
            *state.calls.entry(LEASES_LOST).or_default() += u32::try_from(leased).unwrap();
        })?;
        Ok(committed)
    }

    async fn fetch_work_items(&self, request: WorkFetch<'_>) -> Res<Vec<FetchedWork>> {
        self.enter("fetch_work_items")?;
        self.inner.fetch_work_items(request).await
    }

    fn watch(&self, scope: ChangeScope<'_>) -> Option<ChangeWatch> {
        let watches = self.state.lock().unwrap().watches;
        self.inner.watch(scope).filter(|_| watches)
    }

    async fn reclaim_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Res<()> {
        self.enter("reclaim_orchestration_item_lock")?;
        self.inner.reclaim_orchestration_item_lock(token, extend_for).await
    }

    async fn reclaim_work_item_lock(&self, token: &str, extend_for: Duration) -> Res<()> {
        self.enter("reclaim_work_item_lock")?;
        self.inner.reclaim_work_item_lock(token, extend_for).await
    }

    async fn send_message(&self, message: ClientMessage) -> Res<Delivery> {
        self.enter("send_message")?;
        self.inner.send_message(message).await
    }

    async fn read_turn_state(&self, instance: &str, execution_id: u64) -> Res<TurnState> {
        self.enter("read_turn_state")?;
        self.inner.read_turn_state(instance, execution_id).await
    }

    async fn vouch_for_work_item(&self, token: &str, leases: u32) -> Res<u32> {
        self.enter("vouch_for_work_item")?;
        self.inner.vouch_for_work_item(token, leases).await
    }

    async fn mark_turn_running(&self, token: &str, running: bool) -> Res<u32> {
        self.enter("mark_turn_running")?;
        self.inner.mark_turn_running(token, running).await
    }

    async fn find_lost_work_locks(&self, tokens: &[String]) -> Res<Vec<String>> {
        self.enter("find_lost_work_locks")?;
        self.inner.find_lost_work_locks(tokens).await
    }

    async fn read_outcome(&self, instance: &str) -> Res<InstanceOutcome> {
        self.enter("read_outcome")?;
        self.inner.read_outcome(instance).await
    }

    async fn read_start_event(&self, instance: &str) -> Res<Option<Event>> {
        self.enter("read_start_event")?;
        self.inner.read_start_event(instance).await
    }

    // As without a decorator: the status is read in two calls, either of which may fail.
    async fn read_status(&self, instance: &str) -> Res<InstanceStatus> {
        read_status_in_two_calls(self, instance).await
    }

    // Counts and fails as an abandoned activity does.
    async fn return_unstarted_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Res<()> {
        self.abandon_work_item(token, delay, ignore_attempt).await
    }

    duroxide::providers::forward_provider! { this => this.inner;
        ack_orchestration_item, read_with_execution, append_with_execution, enqueue_for_worker,
        fetch_work_item, get_kv_all_values, get_instance_stats,
    }
}
