//! A provider that fails at random, in every way that the contract allows.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::kit::read_status_in_two_calls;
use duroxide::providers::{
    CommittedTurn, DirectTurn, DispatcherCapabilityFilter, ExecutionMetadata, FetchedTurn,
    FetchedWork, InstanceOutcome, InstanceStatus, OrchestrationItem, Provider,
    ProviderCapabilities, ProviderCapability, ProviderError, ScheduledActivityIdentifier,
    SessionFetchConfig, TagFilter, TurnCommit, TurnFetch, WorkFetch, WorkItem,
};
use duroxide::{Event, SystemStats};

/// A fault of a call.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    /// Fails without an effect; the caller may retry.
    Busy,
    /// Takes effect, but the response is lost.
    Lost,
    /// Fails without an effect; a retry fails too.
    Refused,
}

/// How bad it gets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mood {
    /// Whether commits of turns may be refused for good.
    pub(crate) refuse_turns: bool,
    /// Nothing fails, but some turns are answered long after they were committed.
    pub(crate) late_answers: bool,
}

/// One commit in so many is answered late.
const LATE_EVERY: usize = 4;
/// Long enough for the next turn to be fetched meanwhile.
const LATE_BY: Duration = Duration::from_millis(40);

pub(crate) struct FlakyStore {
    inner: Arc<dyn Provider>,
    mood: Mood,
    random: AtomicU64,
    calm: AtomicBool,
    injected: AtomicUsize,
    commits: AtomicUsize,
    direct: AtomicUsize,
    events_read: AtomicUsize,
}

type Res<T> = Result<T, ProviderError>;

impl FlakyStore {
    pub(crate) fn on(inner: Arc<dyn Provider>, mood: Mood) -> Arc<Self> {
        Arc::new(Self {
            inner,
            mood,
            random: AtomicU64::new(42),
            calm: AtomicBool::new(mood.late_answers),
            injected: AtomicUsize::new(0),
            commits: AtomicUsize::new(0),
            direct: AtomicUsize::new(0),
            events_read: AtomicUsize::new(0),
        })
    }

    /// No more faults.
    pub(crate) fn calm(&self) {
        self.calm.store(true, Ordering::SeqCst);
    }

    pub(crate) fn injected(&self) -> usize {
        self.injected.load(Ordering::SeqCst)
    }

    /// History events that were returned with turns.
    pub(crate) fn events_read(&self) -> usize {
        self.events_read.load(Ordering::SeqCst)
    }

    fn fault(&self) -> Fault {
        if self.calm.load(Ordering::SeqCst) {
            return Fault::None;
        }
        let step = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
        let mixed = (step ^ (step >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        match (mixed >> 40) % 100 {
            0..6 => Fault::Busy,
            6..10 => Fault::Lost,
            10..12 => Fault::Refused,
            _ => Fault::None,
        }
    }

    async fn shaken<T>(&self, operation: &str, call: impl Future<Output = Res<T>>) -> Res<T> {
        let error = match self.fault() {
            Fault::None => return call.await,
            Fault::Busy => ProviderError::retryable(operation, "injected: busy"),
            Fault::Refused => ProviderError::permanent(operation, "injected: refused"),
            Fault::Lost => {
                call.await?;
                ProviderError::retryable(operation, "injected: answer lost")
            }
        };
        self.injected.fetch_add(1, Ordering::SeqCst);
        Err(error)
    }

    /// Like [`shaken`](Self::shaken) for a caller that would rightly take a refusal as final.
    async fn shaken_softly<T>(
        &self,
        operation: &str,
        call: impl Future<Output = Res<T>>,
    ) -> Res<T> {
        self.shaken(operation, call).await.map_err(|error| match error.message.as_str() {
            "injected: refused" => ProviderError::retryable(operation, "injected: busy"),
            _ => error,
        })
    }
}

impl FlakyStore {
    /// Does a commit, and answers some of them late.
    async fn late<T>(&self, call: impl Future<Output = Res<T>>) -> Res<T> {
        let committed = call.await;
        if self.commits.fetch_add(1, Ordering::SeqCst) % LATE_EVERY == LATE_EVERY - 1 {
            tokio::time::sleep(LATE_BY).await;
        }
        committed
    }

    /// Direct turns that were taken and answered.
    pub(crate) fn direct(&self) -> usize {
        self.direct.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Provider for FlakyStore {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.inner.as_ref())
    }

    async fn fetch_orchestration_item(
        &self,
        lock: Duration,
        poll: Duration,
        filter: Option<&DispatcherCapabilityFilter>,
    ) -> Res<Option<(OrchestrationItem, String, u32)>> {
        self.shaken("fetch", self.inner.fetch_orchestration_item(lock, poll, filter)).await
    }

    async fn ack_orchestration_item(
        &self,
        token: &str,
        execution: u64,
        delta: Vec<Event>,
        work: Vec<WorkItem>,
        messages: Vec<WorkItem>,
        metadata: ExecutionMetadata,
        cancelled: Vec<ScheduledActivityIdentifier>,
    ) -> Res<()> {
        let inner = &self.inner;
        let call = inner
            .ack_orchestration_item(token, execution, delta, work, messages, metadata, cancelled);
        self.shaken("ack", call).await
    }

    async fn abandon_orchestration_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Res<()> {
        let call = self.inner.abandon_orchestration_item(token, delay, ignore_attempt);
        self.shaken("abandon", call).await
    }

    async fn read(&self, instance: &str) -> Res<Vec<Event>> {
        self.shaken("read", self.inner.read(instance)).await
    }

    async fn read_with_execution(&self, instance: &str, execution: u64) -> Res<Vec<Event>> {
        self.shaken("read", self.inner.read_with_execution(instance, execution)).await
    }

    async fn enqueue_for_worker(&self, item: WorkItem) -> Res<()> {
        self.shaken("enqueue", self.inner.enqueue_for_worker(item)).await
    }

    async fn fetch_work_item(
        &self,
        lock: Duration,
        poll: Duration,
        session: Option<&SessionFetchConfig>,
        tags: &TagFilter,
    ) -> Res<Option<(WorkItem, String, u32)>> {
        self.shaken("fetch", self.inner.fetch_work_item(lock, poll, session, tags)).await
    }

    async fn ack_work_item(&self, token: &str, completion: Option<WorkItem>) -> Res<()> {
        self.shaken("ack_work_item", self.inner.ack_work_item(token, completion)).await
    }

    async fn renew_work_item_lock(&self, token: &str, extend_for: Duration) -> Res<()> {
        self.shaken("renew", self.inner.renew_work_item_lock(token, extend_for)).await
    }

    async fn renew_session_lock(
        &self,
        owners: &[&str],
        extend_for: Duration,
        idle: Duration,
    ) -> Res<usize> {
        self.shaken("renew", self.inner.renew_session_lock(owners, extend_for, idle)).await
    }

    async fn cleanup_orphaned_sessions(&self, idle: Duration) -> Res<usize> {
        self.shaken("cleanup", self.inner.cleanup_orphaned_sessions(idle)).await
    }

    async fn abandon_work_item(
        &self,
        token: &str,
        delay: Option<Duration>,
        ignore_attempt: bool,
    ) -> Res<()> {
        let call = self.inner.abandon_work_item(token, delay, ignore_attempt);
        self.shaken("abandon", call).await
    }

    async fn renew_orchestration_item_lock(&self, token: &str, extend_for: Duration) -> Res<()> {
        self.shaken("renew", self.inner.renew_orchestration_item_lock(token, extend_for)).await
    }

    async fn enqueue_for_orchestrator(&self, item: WorkItem, delay: Option<Duration>) -> Res<()> {
        self.shaken_softly("enqueue", self.inner.enqueue_for_orchestrator(item, delay)).await
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen: u64,
    ) -> Res<Option<(Option<String>, u64)>> {
        self.shaken("status", self.inner.get_custom_status(instance, last_seen)).await
    }

    async fn get_kv_value(&self, instance: &str, key: &str) -> Res<Option<String>> {
        self.shaken("value", self.inner.get_kv_value(instance, key)).await
    }

    async fn get_kv_all_values(&self, instance: &str) -> Res<HashMap<String, String>> {
        self.shaken("values", self.inner.get_kv_all_values(instance)).await
    }

    async fn get_instance_stats(&self, instance: &str) -> Res<Option<SystemStats>> {
        self.shaken("stats", self.inner.get_instance_stats(instance)).await
    }

    async fn fetch_orchestration_items(&self, request: TurnFetch<'_>) -> Res<Vec<FetchedTurn>> {
        let turns = self.shaken("fetch", self.inner.fetch_orchestration_items(request)).await?;
        let events = turns.iter().map(|turn| turn.item.history.len()).sum();
        self.events_read.fetch_add(events, Ordering::SeqCst);
        Ok(turns)
    }

    async fn commit_turn(&self, commit: Arc<TurnCommit>) -> Res<CommittedTurn> {
        let call = self.inner.commit_turn(commit);
        if self.mood.late_answers {
            return self.late(call).await;
        }
        match self.mood.refuse_turns {
            true => self.shaken("commit_turn", call).await,
            false => self.shaken_softly("commit_turn", call).await,
        }
    }

    fn capabilities(&self) -> ProviderCapabilities {
        self.inner.capabilities().without(ProviderCapability::StartLimits)
    }

    async fn commit_direct_turn(&self, turn: Arc<DirectTurn>) -> Res<Option<CommittedTurn>> {
        let call = self.inner.commit_direct_turn(turn);
        if self.mood.late_answers {
            return self.late(call).await;
        }
        // Refused for good or not: what it brings goes through the queue.
        let committed = self.shaken("commit_direct_turn", call).await?;
        self.direct.fetch_add(usize::from(committed.is_some()), Ordering::SeqCst);
        Ok(committed)
    }

    async fn fetch_work_items(&self, request: WorkFetch<'_>) -> Res<Vec<FetchedWork>> {
        self.shaken("fetch", self.inner.fetch_work_items(request)).await
    }

    async fn read_outcome(&self, instance: &str) -> Res<InstanceOutcome> {
        self.shaken_softly("read_outcome", self.inner.read_outcome(instance)).await
    }

    async fn read_start_event(&self, instance: &str) -> Res<Option<Event>> {
        self.shaken("read_start_event", self.inner.read_start_event(instance)).await
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
        append_with_execution,
    }
}
