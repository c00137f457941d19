//! A node in memory, on a clock that skips.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use duroxide_conformance::reference::MemoryProvider;
use duroxide_core::Client;
use duroxide_core::client::InstanceHandle;
use duroxide_core::client::why::Why;
use duroxide_core::clock::{Clock, ManualClock, millis};
use duroxide_core::histories::{HistoryWriter, RecordedHistory};
use duroxide_core::model::OrchestrationStatus;
use duroxide_core::providers::{ChangeScope, Provider, WorkItem};
use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry, Runtime, RuntimeOptions};
use duroxide_core::typed::{
    Activity, CallError, CallInput, Callable, CallableFn, Orchestration, Queue, Signal,
};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::builder::TestEnvBuilder;
use crate::error::TestError;
use crate::gate::Released;
use crate::handlers::Surroundings;
use crate::journal::RecordedCall;
use crate::limits::{LEASES_EXPIRE_AFTER, PATIENCE, SKIPS_MAX, START_MS};
use crate::mock::decoded_input;
use crate::node_store::NodeStore;
use crate::snapshot;

/// A node with a store in memory and a clock of its own, for tests in a plain `#[tokio::test]`.
///
/// Time passes only in the methods that wait: [`result`](Self::result) skips to the next timer
/// whenever nothing can run and no activity is in flight, [`advance`](Self::advance) does so up to
/// a time. So a workflow that waits for days is tested in milliseconds. Clones share everything.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_core::{ActivityContext, OrchestrationContext};
/// # use duroxide_macros::{activity, orchestration};
/// # use duroxide_testing::TestEnv;
/// #[activity]
/// async fn charge(_ctx: ActivityContext, cents: u64) -> Result<String, String> {
///     Ok(format!("{cents} cents charged"))
/// }
///
/// #[orchestration]
/// async fn buy(ctx: OrchestrationContext, cents: u64) -> Result<String, String> {
///     ctx.schedule_timer(std::time::Duration::from_secs(3 * 24 * 3600)).await;
///     Ok(ctx.call(charge, cents).await?)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let env = TestEnv::builder().register(buy).register(charge).build();
/// let order = env.start(buy, "order-17", 1200).await?;
/// assert_eq!(env.result(&order).await?, "1200 cents charged");
/// assert_eq!(env.elapsed().as_secs(), 3 * 24 * 3600);
/// assert_eq!(env.calls(charge)?, [1200]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "an environment does nothing until it starts an orchestration"]
pub struct TestEnv {
    world: Arc<World>,
}

struct World {
    around: Arc<Surroundings>,
    store: Arc<MemoryProvider>,
    client: Client,
    orchestrations: OrchestrationRegistry,
    activities: ActivityRegistry,
    options: RuntimeOptions,
    node: Mutex<Option<Arc<Runtime>>>,
}

impl fmt::Debug for TestEnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestEnv").field("now_ms", &self.clock().now_ms()).finish_non_exhaustive()
    }
}

impl Drop for World {
    /// Stops the node, so that a test with many environments does not collect them.
    fn drop(&mut self) {
        let executor = tokio::runtime::Handle::try_current();
        if let (Some(node), Ok(executor)) = (self.node.get_mut().take(), executor) {
            // Without an executor, the tasks of the node have ended with it.
            drop(executor.spawn(node.shutdown(Some(0))));
        }
    }
}

/// Whether anything goes on.
enum Pace {
    /// Code runs, or is about to.
    Busy,
    /// Nothing runs. The next timer is due then.
    Idle { next_due: Option<u64> },
}

impl TestEnv {
    /// A builder without code.
    pub fn builder() -> TestEnvBuilder {
        TestEnvBuilder::default()
    }

    pub(crate) fn new(
        around: Arc<Surroundings>,
        orchestrations: OrchestrationRegistry,
        activities: ActivityRegistry,
        options: RuntimeOptions,
    ) -> Self {
        let store = Arc::new(MemoryProvider::new(Arc::clone(&around.clock) as _));
        let client = Client::new(Arc::clone(&store) as _);
        let node = Mutex::new(None);
        Self {
            world: Arc::new(World {
                around,
                store,
                client,
                orchestrations,
                activities,
                options,
                node,
            }),
        }
    }

    fn clock(&self) -> &ManualClock {
        &self.world.around.clock
    }

    /// A client of the store, for everything that has no method here.
    pub fn client(&self) -> &Client {
        &self.world.client
    }

    /// The time by the clock of the test.
    pub fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_millis(self.clock().now_ms())
    }

    /// How much time has passed by the clock of the test.
    pub fn elapsed(&self) -> Duration {
        Duration::from_millis(self.clock().now_ms().saturating_sub(START_MS))
    }

    /// Starts an orchestration by its function.
    ///
    /// # Errors
    /// When the node does not start because code is missing, or when the input cannot be encoded.
    pub async fn start<F, M>(
        &self,
        orchestration: F,
        instance: impl Into<String>,
        input: impl CallInput<<F::Handle as Callable>::Input>,
    ) -> Result<InstanceHandle<F::Handle>, TestError>
    where
        F: CallableFn<M, Handle: Orchestration>,
    {
        self.ensure_node().await?;
        Ok(self.client().start(orchestration, instance, input).await?)
    }

    /// Starts an orchestration by its name.
    ///
    /// # Errors
    /// When the node does not start because code is missing.
    pub async fn start_named(
        &self,
        orchestration: &str,
        instance: &str,
        input: impl Into<String>,
    ) -> Result<(), TestError> {
        self.ensure_node().await?;
        Ok(self.client().start_orchestration(instance, orchestration, input).await?)
    }

    /// Lets the instance run to its end, skips the time in which nothing happens, and returns its
    /// result.
    ///
    /// # Errors
    /// The error of the orchestration. If the instance cannot end, because it waits for something
    /// that no timer brings, that is an error of the infrastructure, whose text says why it waits.
    pub async fn result<H: Orchestration>(
        &self,
        run: &InstanceHandle<H>,
    ) -> Result<H::Output, CallError<H::Error>> {
        match self.run_to_end(run.instance_id()).await {
            Ok(_status) => run.result().await,
            Err(error) => Err(CallError::Infrastructure { message: error.to_string() }),
        }
    }

    /// Like [`result`](Self::result), for an instance that was started by name: what it returned,
    /// as it is stored.
    ///
    /// # Errors
    /// When the instance cannot end.
    pub async fn result_named(&self, instance: &str) -> Result<Result<String, String>, TestError> {
        match self.run_to_end(instance).await? {
            OrchestrationStatus::Completed { output, .. } => Ok(Ok(output)),
            OrchestrationStatus::Failed { details, .. } => Ok(Err(details.display_message())),
            OrchestrationStatus::NotFound | OrchestrationStatus::Running { .. } => {
                Err(TestError::NotFound(instance.to_owned()))
            }
        }
    }

    async fn run_to_end(&self, instance: &str) -> Result<OrchestrationStatus, TestError> {
        self.ensure_node().await?;
        for _skip in 0..SKIPS_MAX {
            let next_due = self.settle().await?;
            match self.client().get_orchestration_status(instance).await? {
                OrchestrationStatus::NotFound => {
                    return Err(TestError::NotFound(instance.to_owned()));
                }
                OrchestrationStatus::Running { .. } => {}
                ended @ (OrchestrationStatus::Completed { .. }
                | OrchestrationStatus::Failed { .. }) => return Ok(ended),
            }
            match next_due {
                Some(due) => self.clock().set(due),
                None => {
                    let why = self.why_named(instance).await?.to_string();
                    return Err(TestError::Stuck { why });
                }
            }
        }
        Err(TestError::Endless { timers: SKIPS_MAX })
    }

    /// Waits until nothing can run and no activity is in flight. Time does not pass.
    ///
    /// # Errors
    /// When the node does not start, or when code runs for too long in real time.
    pub async fn until_idle(&self) -> Result<(), TestError> {
        self.ensure_node().await?;
        self.settle().await.map(drop)
    }

    /// Lets time pass: everything that is due until then happens in its order.
    ///
    /// # Errors
    /// When the node does not start, or when code runs for too long in real time.
    pub async fn advance(&self, by: Duration) -> Result<(), TestError> {
        self.ensure_node().await?;
        let end = self.clock().now_ms().saturating_add(millis(by));
        while let Some(due) = self.settle().await?.filter(|due| *due < end) {
            self.clock().set(due);
        }
        // A crash meanwhile may have moved the clock further.
        self.clock().set(self.clock().now_ms().max(end));
        self.settle().await.map(drop)
    }

    /// Raises an event of an instance.
    ///
    /// # Errors
    /// When the payload cannot be encoded.
    pub async fn raise<H, T>(
        &self,
        run: &InstanceHandle<H>,
        signal: Signal<T>,
        payload: impl CallInput<T>,
    ) -> Result<(), TestError> {
        let data = payload.encode().map_err(TestError::Decode)?;
        self.raise_named(run.instance_id(), signal.name(), data).await
    }

    /// Raises an event of an instance by its name.
    ///
    /// # Errors
    /// When the client refuses it.
    pub async fn raise_named(
        &self,
        instance: &str,
        event: &str,
        data: impl Into<String>,
    ) -> Result<(), TestError> {
        self.ensure_node().await?;
        if !self.world.around.gate.permutes() {
            return Ok(self.client().raise_event(instance, event, data).await?);
        }
        let (name, data) = (event.to_owned(), data.into());
        let message = WorkItem::ExternalRaised { instance: instance.to_owned(), name, data };
        self.world.around.gate.send(instance, message);
        Ok(())
    }

    /// Puts a message into a queue of an instance.
    ///
    /// # Errors
    /// When the message cannot be encoded.
    pub async fn enqueue<H, T>(
        &self,
        run: &InstanceHandle<H>,
        queue: Queue<T>,
        message: impl CallInput<T>,
    ) -> Result<(), TestError> {
        self.ensure_node().await?;
        let data = message.encode().map_err(TestError::Decode)?;
        Ok(self.client().enqueue_event(run.instance_id(), queue.name(), data).await?)
    }

    /// Why an instance waits.
    ///
    /// # Errors
    /// When there is no such instance.
    pub async fn why<H>(&self, run: &InstanceHandle<H>) -> Result<Why, TestError> {
        self.why_named(run.instance_id()).await
    }

    /// Why the instance of this id waits.
    ///
    /// # Errors
    /// When there is no such instance.
    pub async fn why_named(&self, instance: &str) -> Result<Why, TestError> {
        // The clock may have skipped over the time for which a node counts as live.
        if let Some(announcement) = self.world.around.gate.announcement() {
            let announced = self.world.store.announce_worker(&announcement).await;
            announced.map_err(duroxide_core::ClientError::from)?;
        }
        Ok(self.client().why(instance).await?)
    }

    /// The inputs of all runs of an activity, mocked or real, in the order in which they began.
    ///
    /// # Errors
    /// When an input does not decode.
    pub fn calls<F, M>(&self, activity: F) -> Result<Vec<<F::Handle as Callable>::Input>, TestError>
    where
        F: CallableFn<M, Handle: Activity>,
    {
        // Only its type counts.
        drop(activity);
        let calls = self.calls_named(F::Handle::NAME);
        let inputs = calls.iter().map(|call| decoded_input::<F::Handle>(&call.input));
        inputs.collect::<Result<_, _>>().map_err(TestError::Decode)
    }

    /// All runs of the activity of this name.
    pub fn calls_named(&self, activity: &str) -> Vec<RecordedCall> {
        self.world.around.journal.of(activity)
    }

    /// The history of the current execution as a text that is the same in every run: one line for
    /// each event, with the time since the start. Results of `new_guid` are left out.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub async fn history<H>(&self, run: &InstanceHandle<H>) -> Result<String, TestError> {
        self.history_named(run.instance_id()).await
    }

    /// The history of the instance of this id, as [`history`](Self::history) shows it.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub async fn history_named(&self, instance: &str) -> Result<String, TestError> {
        let events = self.world.store.read(instance).await;
        let events = events.map_err(duroxide_core::ClientError::from)?;
        Ok(snapshot::history(&events))
    }

    /// The history of the current execution as JSON lines, as
    /// [`Replayer`](crate::Replayer) reads them.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub async fn export(&self, instance: &str) -> Result<String, TestError> {
        let events = self.world.store.read(instance).await;
        let events = events.map_err(duroxide_core::ClientError::from)?;
        let Some(execution_id) = events.first().map(|event| event.execution_id) else {
            return Err(TestError::NotFound(instance.to_owned()));
        };
        let written = || {
            let mut writer = HistoryWriter::new("the text", Vec::new())?;
            writer.write(&RecordedHistory::new(instance, execution_id, events))?;
            writer.finish()
        };
        let lines = written().map_err(|error| TestError::Decode(error.to_string()))?;
        String::from_utf8(lines).map_err(|error| TestError::Decode(error.to_string()))
    }

    /// Stops the node at once and starts another one, as after a crash: running activities are
    /// aborted and run again when their leases have expired.
    ///
    /// # Errors
    /// When the node does not start.
    pub async fn restart(&self) -> Result<(), TestError> {
        self.stop().await;
        self.clock().advance(LEASES_EXPIRE_AFTER);
        self.ensure_node().await
    }

    pub(crate) async fn stop(&self) {
        if let Some(node) = self.world.node.lock().await.take() {
            node.shutdown(Some(0)).await;
        }
    }

    pub(crate) fn commits(&self) -> u64 {
        self.world.around.gate.commits()
    }

    async fn ensure_node(&self) -> Result<(), TestError> {
        let world = &self.world;
        let mut node = world.node.lock().await;
        if node.is_none() {
            let gate = Arc::clone(&world.around.gate);
            let store = NodeStore::new(Arc::clone(&world.store), gate);
            let (activities, orchestrations) =
                (world.activities.clone(), world.orchestrations.clone());
            let options = world.options.clone();
            let started = Runtime::try_start_with_options(
                Arc::new(store),
                activities,
                orchestrations,
                options,
            );
            *node = Some(started.await?);
        }
        Ok(())
    }

    /// Waits until nothing runs. Returns when the next timer is due.
    async fn settle(&self) -> Result<Option<u64>, TestError> {
        let gate = &self.world.around.gate;
        let deadline = Instant::now() + PATIENCE;
        let mut changes = gate.watch();
        let Some(mut stored) = self.world.store.watch(ChangeScope::OrchestratorQueue) else {
            return Ok(None);
        };
        loop {
            if gate.take_crash() {
                self.restart().await?;
            }
            if let Pace::Idle { next_due } = self.pace() {
                match gate.release_one() {
                    Released::Nothing => return Ok(next_due),
                    Released::Completion => {}
                    Released::Message(message) => self.deliver(*message).await?,
                }
            }
            tokio::select! {
                _changed = changes.changed() => {}
                () = stored.changed() => {}
                () = tokio::time::sleep_until(deadline) => {
                    let running = self.world.store.pending().to_string();
                    return Err(TestError::Busy { waited: PATIENCE, running });
                }
            }
        }
    }

    async fn deliver(&self, message: WorkItem) -> Result<(), TestError> {
        let sent = self.world.store.enqueue_for_orchestrator(message, None).await;
        Ok(sent.map_err(duroxide_core::ClientError::from)?)
    }

    fn pace(&self) -> Pace {
        let pending = self.world.store.pending();
        let gate = &self.world.around.gate;
        let (asleep, wakes_at) = gate.asleep(self.clock().now_ms());
        let waiting = asleep + gate.held();
        // Held completions keep their slots, so that further activities may have none.
        let no_room =
            gate.held() > 0 && pending.work_leased >= self.world.options.worker_concurrency;
        let starts = pending.work_ready > 0 && !no_room;
        if pending.turns > 0 || starts || pending.work_leased > waiting {
            return Pace::Busy;
        }
        let next_due = pending.next_due.into_iter().chain(wakes_at).min();
        Pace::Idle { next_due }
    }
}
