//! A provider in memory for unit tests: it keeps its input and returns what the test configures.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::{
    ChangeHub, ChangeScope, ChangeWatch, DispatcherCapabilityFilter, ExecutionMetadata,
    OrchestrationItem, Provider, ProviderError, ScheduledActivityIdentifier, SessionFetchConfig,
    TagFilter,
};
use crate::clock::{Clock, ManualClock};
use crate::model::{Event, EventKind, SystemStats, WorkItem};

/// What the fake keeps.
#[derive(Default)]
pub(crate) struct FakeState {
    /// Messages of the orchestrator queue.
    pub(crate) sent: Vec<WorkItem>,
    pub(crate) histories: HashMap<String, Vec<Event>>,
    pub(crate) custom_status: HashMap<String, (Option<String>, u64)>,
    pub(crate) values: HashMap<(String, String), String>,
    /// How often a history was read.
    pub(crate) reads: usize,
    /// What every read of a history answers, if it fails.
    pub(crate) read_error: Option<ProviderError>,
    /// Reports of progress that were kept.
    pub(crate) reports: Vec<String>,
    /// What the next reports answer, one after the other, before they are kept again.
    pub(crate) report_errors: VecDeque<ProviderError>,
    /// Whether the lease of every activity is lost.
    pub(crate) leases_lost: bool,
    /// What every read of a custom status answers, if it fails.
    pub(crate) custom_status_error: Option<ProviderError>,
}

/// The fake. Without a hub it cannot notify of changes.
pub(crate) struct FakeProvider {
    state: Mutex<FakeState>,
    hub: Option<ChangeHub>,
    clock: Arc<ManualClock>,
    /// One permit for each report that may be stored.
    pub(crate) report_permits: Semaphore,
}

/// Time at which the clock of a new fake stands.
pub(crate) const FAKE_NOW_MS: u64 = 1_700_000_000_000;

impl FakeProvider {
    /// A fake that notifies of changes.
    pub(crate) fn watching() -> Arc<Self> {
        Arc::new(Self::new(Some(ChangeHub::default())))
    }

    /// A fake that clients must poll.
    pub(crate) fn without_watch() -> Arc<Self> {
        Arc::new(Self::new(None))
    }

    fn new(hub: Option<ChangeHub>) -> Self {
        let clock = Arc::new(ManualClock::new(FAKE_NOW_MS));
        let report_permits = Semaphore::new(0);
        Self { state: Mutex::default(), hub, clock, report_permits }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, FakeState> {
        self.state.lock().unwrap()
    }

    /// Records an event of the first execution and notifies of it.
    pub(crate) fn record(&self, instance: &str, kind: EventKind) {
        let event = Event::new(instance, 1, None, kind);
        self.state().histories.entry(instance.to_owned()).or_default().push(event);
        self.notify(instance);
    }

    pub(crate) fn record_start(&self, instance: &str) {
        self.record(
            instance,
            EventKind::OrchestrationStarted {
                name: "Pay".to_owned(),
                version: "1.0.0".to_owned(),
                input: String::new(),
                parent_instance: None,
                parent_id: None,
                parent_execution_id: None,
                carry_forward_events: None,
                initial_custom_status: None,
            },
        );
    }

    pub(crate) fn record_completion(&self, instance: &str, output: &str) {
        self.record(instance, EventKind::OrchestrationCompleted { output: output.to_owned() });
    }

    pub(crate) fn set_custom_status(&self, instance: &str, text: &str, version: u64) {
        let status = (Some(text.to_owned()), version);
        self.state().custom_status.insert(instance.to_owned(), status);
        self.notify(instance);
    }

    pub(crate) fn set_value(&self, instance: &str, key: &str, value: &str) {
        let address = (instance.to_owned(), key.to_owned());
        self.state().values.insert(address, value.to_owned());
        self.notify(instance);
    }

    fn notify(&self, instance: &str) {
        if let Some(hub) = &self.hub {
            hub.notify(ChangeScope::Instance(instance));
        }
    }
}

fn not_faked<T>(operation: &str) -> Result<T, ProviderError> {
    Err(ProviderError::permanent(operation, "not faked: timeout"))
}

#[async_trait]
impl Provider for FakeProvider {
    fn name(&self) -> &str {
        "fake"
    }

    async fn fetch_orchestration_item(
        &self,
        _lock_timeout: Duration,
        _poll_timeout: Duration,
        _filter: Option<&DispatcherCapabilityFilter>,
    ) -> Result<Option<(OrchestrationItem, String, u32)>, ProviderError> {
        Ok(None)
    }

    async fn ack_orchestration_item(
        &self,
        _lock_token: &str,
        _execution_id: u64,
        _history_delta: Vec<Event>,
        _worker_items: Vec<WorkItem>,
        _orchestrator_items: Vec<WorkItem>,
        _metadata: ExecutionMetadata,
        _cancelled_activities: Vec<ScheduledActivityIdentifier>,
    ) -> Result<(), ProviderError> {
        not_faked("ack_orchestration_item")
    }

    async fn abandon_orchestration_item(
        &self,
        _lock_token: &str,
        _delay: Option<Duration>,
        _ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        not_faked("abandon_orchestration_item")
    }

    async fn read(&self, instance: &str) -> Result<Vec<Event>, ProviderError> {
        let mut state = self.state();
        state.reads += 1;
        match &state.read_error {
            Some(error) => Err(error.clone()),
            None => Ok(state.histories.get(instance).cloned().unwrap_or_default()),
        }
    }

    async fn read_with_execution(
        &self,
        _instance: &str,
        _execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        not_faked("read_with_execution")
    }

    async fn append_with_execution(
        &self,
        _instance: &str,
        _execution_id: u64,
        _new_events: Vec<Event>,
    ) -> Result<(), ProviderError> {
        not_faked("append_with_execution")
    }

    async fn enqueue_for_worker(&self, _item: WorkItem) -> Result<(), ProviderError> {
        not_faked("enqueue_for_worker")
    }

    async fn fetch_work_item(
        &self,
        _lock_timeout: Duration,
        _poll_timeout: Duration,
        _session: Option<&SessionFetchConfig>,
        _tag_filter: &TagFilter,
    ) -> Result<Option<(WorkItem, String, u32)>, ProviderError> {
        Ok(None)
    }

    async fn ack_work_item(
        &self,
        _token: &str,
        _completion: Option<WorkItem>,
    ) -> Result<(), ProviderError> {
        not_faked("ack_work_item")
    }

    async fn renew_work_item_lock(
        &self,
        _token: &str,
        _extend_for: Duration,
    ) -> Result<(), ProviderError> {
        match self.state().leases_lost {
            true => Err(ProviderError::permanent("renew_work_item_lock", "lost")),
            false => Ok(()),
        }
    }

    async fn renew_session_lock(
        &self,
        _owner_ids: &[&str],
        _extend_for: Duration,
        _idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        Ok(0)
    }

    async fn cleanup_orphaned_sessions(
        &self,
        _idle_timeout: Duration,
    ) -> Result<usize, ProviderError> {
        Ok(0)
    }

    async fn abandon_work_item(
        &self,
        _token: &str,
        _delay: Option<Duration>,
        _ignore_attempt: bool,
    ) -> Result<(), ProviderError> {
        not_faked("abandon_work_item")
    }

    async fn renew_orchestration_item_lock(
        &self,
        _token: &str,
        _extend_for: Duration,
    ) -> Result<(), ProviderError> {
        not_faked("renew_orchestration_item_lock")
    }

    async fn enqueue_for_orchestrator(
        &self,
        item: WorkItem,
        delay: Option<Duration>,
    ) -> Result<(), ProviderError> {
        assert_eq!(delay, None, "clients send without delay");
        self.state().sent.push(item);
        Ok(())
    }

    async fn get_custom_status(
        &self,
        instance: &str,
        last_seen_version: u64,
    ) -> Result<Option<(Option<String>, u64)>, ProviderError> {
        let state = self.state();
        match &state.custom_status_error {
            Some(error) => Err(error.clone()),
            None => Ok(state
                .custom_status
                .get(instance)
                .filter(|(_text, version)| *version > last_seen_version)
                .cloned()),
        }
    }

    async fn get_kv_value(
        &self,
        instance: &str,
        key: &str,
    ) -> Result<Option<String>, ProviderError> {
        Ok(self.state().values.get(&(instance.to_owned(), key.to_owned())).cloned())
    }

    async fn get_kv_all_values(
        &self,
        instance: &str,
    ) -> Result<HashMap<String, String>, ProviderError> {
        let state = self.state();
        let own = state.values.iter().filter(|((owner, _key), _value)| owner == instance);
        Ok(own.map(|((_owner, key), value)| (key.clone(), value.clone())).collect())
    }

    async fn get_instance_stats(
        &self,
        _instance: &str,
    ) -> Result<Option<SystemStats>, ProviderError> {
        Ok(None)
    }

    fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock) as Arc<dyn Clock>
    }

    async fn record_activity_progress(
        &self,
        _token: &str,
        progress: &str,
    ) -> Result<(), ProviderError> {
        self.report_permits.acquire().await.unwrap().forget();
        let mut state = self.state();
        if let Some(error) = state.report_errors.pop_front() {
            return Err(error);
        }
        state.reports.push(progress.to_owned());
        Ok(())
    }

    fn watch(&self, scope: ChangeScope<'_>) -> Option<ChangeWatch> {
        self.hub.as_ref().map(|hub| hub.watch(scope))
    }
}
