//! The life of a workflow that uses every part of a turn, on a node behind the proxy.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use duroxide_core::client::Client;
use duroxide_core::providers::Provider;
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime, RuntimeOptions,
};
use duroxide_core::{ActivityContext, Event, OrchestrationContext};

use super::wire::{CONNECT, Fault, PREPARE, Wire};
use crate::support::*;

/// What a life returns.
const RESULT: &str = "one first session x y z child second last";
/// How often each life calls activities, with the one of its child.
const ACTIVITIES: usize = 7;
/// Lives without a fault, to see what a node requests.
pub(crate) const LIVES: usize = 8;

/// One fault at one request.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) request: String,
    pub(crate) fault: Fault,
}

/// What a case may do besides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Harm {
    /// Everything completes, and each activity runs once.
    None,
    /// Leases may be lost, so that activities may run again.
    LostLeases,
    /// The life that the fault meets may fail, with the error as its reason.
    MayFail,
}

/// A node with its own schema behind its own proxy.
pub(crate) struct Node {
    wire: Wire,
    client: Client,
    runtime: Arc<Runtime>,
    store: Store,
    /// How often each activity ran.
    runs: Arc<Mutex<HashMap<String, usize>>>,
    lives: usize,
}

async fn life(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    if !input.is_empty() {
        let second = ctx.dequeue_event("messages").await;
        let last = ctx.schedule_activity("Note", "last").await?;
        return Ok(format!("{input} {second} {last}"));
    }
    // A first turn that does nothing else is committed in a way of its own.
    let one = ctx.schedule_activity("Note", "one").await?;
    ctx.set_kv_value("key", "value");
    ctx.set_custom_status("begun");
    let first = ctx.dequeue_event("messages").await;
    ctx.schedule_timer(Duration::from_millis(1)).await;
    let session = ctx.schedule_activity_on_session("Note", "session", ctx.instance_id()).await?;
    let many = ["x", "y", "z"].map(|name| ctx.schedule_activity("Note", name));
    let many: Result<Vec<String>, String> = ctx.join(many.into()).await.into_iter().collect();
    let child = ctx.schedule_sub_orchestration("Child", "child").await?;
    ctx.continue_as_new(format!("{one} {first} {session} {} {child}", many?.join(" "))).await
}

impl Node {
    pub(crate) async fn start(options: RuntimeOptions) -> Self {
        Self::start_with(options, &[]).await
    }

    /// Starts a node that meets faults from its first request on. What opens the store is no part
    /// of a life.
    pub(crate) async fn start_with(options: RuntimeOptions, faults: &[Case]) -> Self {
        let (wire, store) = Wire::before(Store::live()).await;
        let runs = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
        let noted = Arc::clone(&runs);
        let note = move |ctx: ActivityContext, input: String| {
            let activity = format!("{} {input}", ctx.instance_id());
            *noted.lock().unwrap().entry(activity).or_default() += 1;
            async move { Ok(input) }
        };
        let child = |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Note", input).await
        };
        let provider: Arc<dyn Provider> = store.node().await;
        drop(wire.take_seen());
        for case in faults {
            wire.arm(&case.request, case.fault);
        }
        let runtime = Runtime::start_with_options(
            Arc::clone(&provider),
            ActivityRegistry::builder().register("Note", note).build(),
            OrchestrationRegistry::builder()
                .register("Life", life)
                .register("Child", child)
                .build(),
            options,
        )
        .await;
        let client = Client::new(provider);
        Self { wire, client, runtime, store, runs, lives: 0 }
    }

    /// The requests of lives without a fault, on old and on new connections.
    pub(crate) async fn requests(&mut self) -> BTreeMap<String, usize> {
        for number in 0..LIVES {
            if number % 2 == 1 {
                self.wire.cut_all().await;
            }
            self.live().await.unwrap();
        }
        self.wire.take_seen()
    }

    /// Runs up to so many lives until one has met the fault; `false` if none did.
    pub(crate) async fn meet(&mut self, case: &Case, harm: Harm, lives_max: usize) -> bool {
        for _ in 0..lives_max {
            self.wire.arm(&case.request, case.fault);
            let opens = [PREPARE, CONNECT, "LISTEN"];
            if opens.iter().any(|start| case.request.starts_with(start)) {
                self.wire.cut_all().await;
            }
            let lived = self.live().await;
            let met = self.wire.disarm().is_empty();
            check(&format!("{case:?}"), lived, if met { harm } else { Harm::None });
            if met {
                return true;
            }
        }
        false
    }

    /// Runs lives until all faults of the start are met or the time is over. Returns the requests
    /// that were not made.
    pub(crate) async fn meet_all(
        &mut self,
        what: &str,
        harm: Harm,
        within: Duration,
    ) -> Vec<String> {
        let until = tokio::time::Instant::now() + within;
        for number in 0.. {
            if number % 2 == 1 {
                self.wire.cut_all().await;
            }
            let lived = self.live().await;
            check(what, lived, harm);
            if !self.wire.is_armed() || tokio::time::Instant::now() > until {
                break;
            }
        }
        self.wire.disarm()
    }

    /// One life. Returns how often activities ran for it.
    async fn live(&mut self) -> Result<usize, String> {
        self.lives += 1;
        let id = format!("life-{}", self.lives);
        let lived = self.live_as(&id).await;
        let mut runs = self.runs.lock().unwrap();
        let of_this = |activity: &String| activity.split([' ', ':']).next() == Some(&id);
        let count = runs.iter().filter(|(activity, _)| of_this(activity)).map(|(_, runs)| runs);
        let count = count.sum();
        runs.clear();
        lived.map(|()| count)
    }

    async fn live_as(&self, id: &str) -> Result<(), String> {
        let client = &self.client;
        let text = |error: duroxide_core::client::ClientError| error.to_string();
        client.start_orchestration(id, "Life", "").await.map_err(text)?;
        client.enqueue_event(id, "messages", "first").await.map_err(text)?;
        client.enqueue_event(id, "messages", "second").await.map_err(text)?;
        let status = client.wait_for_orchestration(id, PATIENCE).await;
        let status = status.map_err(|error| format!("{error:?}"))?;
        let is_result = |output: &String| output == RESULT;
        if !matches!(&status, OrchestrationStatus::Completed { output, .. } if is_result(output)) {
            return Err(format!("{status:?}"));
        }
        let value = client.get_kv_value(id, "key").await.map_err(text)?;
        assert_eq!(value.as_deref(), Some("value"));
        for execution in [1, 2] {
            let history = client.read_execution_history(id, execution).await.map_err(text)?;
            assert_eq!(history.iter().filter(|event| event.is_start()).count(), 1);
            assert!(history.iter().enumerate().all(|(place, event)| is_at(event, place)));
        }
        Ok(())
    }

    /// Ends the node: nothing was poisoned, and nothing is left over.
    pub(crate) async fn end(self, what: &str) {
        let metrics = self.runtime.observability_handle().unwrap().metrics_provider().snapshot();
        assert_eq!(metrics.orch_poison + metrics.activity_poison, 0, "{what}: poisoned");
        let sql = Store { url: Store::live().url, ..self.store }.sql().await;
        let left = "SELECT concat_ws(' ', table_name, instance_id) FROM (
                 SELECT 'worker_queue' AS table_name, instance_id FROM $.worker_queue
                 UNION ALL SELECT 'orchestrator_queue', instance_id FROM $.orchestrator_queue
                 UNION ALL SELECT 'instance_locks', instance_id FROM $.instance_locks) AS all_left";
        let nothing_left = async {
            while !sql.lines(left).await.is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(PATIENCE, nothing_left).await.is_err() {
            panic!("{what}: rows are left: {}", sql.lines(left).await);
        }
        self.runtime.shutdown(None).await;
    }
}

/// Whether a life went as the harm allows.
fn check(what: &str, lived: Result<usize, String>, harm: Harm) {
    match lived {
        Ok(runs) => assert!(
            harm == Harm::LostLeases || runs == ACTIVITIES,
            "{what}: activities ran {runs} times"
        ),
        Err(error) => assert!(harm == Harm::MayFail, "{what}: {error}"),
    }
}

fn is_at(event: &Event, place: usize) -> bool {
    u64::try_from(place).is_ok_and(|place| event.event_id() == place + 1)
}
