//! Workflows that are under way while something happens to the server, and short ones that a client
//! starts meanwhile.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::client::Client;
use duroxide_core::providers::Provider;
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime, RuntimeOptions,
};
use duroxide_core::{ActivityContext, Event, EventKind, OrchestrationContext};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::*;

/// Long workflows, and the steps of each: together longer than what happens to the server.
const TRAVELLERS: usize = 6;
const STEPS: u32 = 60;
const STEP: Duration = Duration::from_millis(20);
/// Short enough for a test, long enough for a busy machine.
const LEASE_TIME: Duration = Duration::from_secs(2);
/// Longer than servers take to come back.
const END_WITHIN: Duration = Duration::from_secs(120);

/// A node with workflows under way.
pub(crate) struct Journey {
    client: Client,
    runtime: Arc<Runtime>,
    stop: watch::Sender<bool>,
    starter: JoinHandle<Acknowledged>,
}

/// What the store acknowledged to the client.
#[derive(Debug, Default)]
struct Acknowledged {
    started: Vec<String>,
    completed: Vec<String>,
}

async fn travel(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    let mut sum = 0;
    for step in 0..STEPS {
        let one = ctx.schedule_activity("Echo", "1").await?;
        sum += one.parse::<u32>().map_err(|error| format!("step {step}: {error}"))?;
        ctx.schedule_timer(STEP).await;
    }
    Ok(sum.to_string())
}

impl Journey {
    /// Starts the workflows, and waits until the first ones have completed.
    pub(crate) async fn begin(store: &Store) -> Self {
        let echo = |_ctx: ActivityContext, input: String| async move { Ok(input) };
        let short = |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Echo", input).await
        };
        let provider: Arc<dyn Provider> = store.node().await;
        let options = RuntimeOptions {
            max_attempts: 2,
            orchestrator_lock_timeout: LEASE_TIME,
            worker_lock_timeout: LEASE_TIME,
            ..RuntimeOptions::default()
        };
        let runtime = Runtime::start_with_options(
            Arc::clone(&provider),
            ActivityRegistry::builder().register("Echo", echo).build(),
            OrchestrationRegistry::builder()
                .register("Travel", travel)
                .register("Short", short)
                .build(),
            options,
        )
        .await;
        let client = Client::new(Arc::clone(&provider));
        for number in 0..TRAVELLERS {
            client.start_orchestration(format!("long-{number}"), "Travel", "").await.unwrap();
        }
        let (stop, stopped) = watch::channel(false);
        let (first, mut any) = watch::channel(0);
        let starter = tokio::spawn(start_short_ones(Client::new(provider), stopped, first));
        tokio::time::timeout(PATIENCE, any.wait_for(|completed| *completed >= 3))
            .await
            .expect("short workflows complete")
            .unwrap();
        Self { client, runtime, stop, starter }
    }

    /// Whatever happened is over: everything that was acknowledged is there and ends.
    pub(crate) async fn end(self, what: &str) {
        // One that is started now shows that the trouble is over.
        let over = async {
            while self.client.start_orchestration("over", "Short", "over").await.is_err() {
                tokio::time::sleep(STEP).await;
            }
        };
        tokio::time::timeout(END_WITHIN, over).await.expect("the server is back");
        self.stop.send(true).unwrap();
        let acknowledged = tokio::time::timeout(END_WITHIN, self.starter).await.unwrap().unwrap();
        for id in &acknowledged.completed {
            let status = until_read(|| self.client.get_orchestration_status(id)).await;
            assert_eq!(output(status).as_deref(), Some(id.as_str()), "{what}: {id} had completed");
        }
        let long = (0..TRAVELLERS).map(|number| format!("long-{number}"));
        for id in acknowledged.started.iter().cloned().chain(long.clone()) {
            let status = until_read(|| self.client.wait_for_orchestration(&id, END_WITHIN)).await;
            let is_long = id.starts_with("long");
            let expected = if is_long { STEPS.to_string() } else { id.clone() };
            assert_eq!(output(status), Some(expected), "{what}: {id}");
        }
        for id in long {
            let history = until_read(|| self.client.read_execution_history(&id, 1)).await;
            check(&history);
        }
        let metrics = self.runtime.observability_handle().unwrap().metrics_provider().snapshot();
        assert_eq!(metrics.orch_poison + metrics.activity_poison, 0, "{what}: poisoned");
        println!(
            "{what}: {} starts and {} ends were acknowledged, {TRAVELLERS} long ones ended",
            acknowledged.started.len(),
            acknowledged.completed.len()
        );
        self.runtime.shutdown(None).await;
    }
}

/// Starts one after the other, whatever happens to the server.
async fn start_short_ones(
    client: Client,
    stopped: watch::Receiver<bool>,
    first: watch::Sender<usize>,
) -> Acknowledged {
    const WAIT: Duration = Duration::from_secs(1);
    let mut acknowledged = Acknowledged::default();
    for number in 0.. {
        if *stopped.borrow() {
            break;
        }
        let id = format!("short-{number}");
        if client.start_orchestration(&id, "Short", &id).await.is_err() {
            continue;
        }
        acknowledged.started.push(id.clone());
        if let Ok(OrchestrationStatus::Completed { .. }) =
            client.wait_for_orchestration(&id, WAIT).await
        {
            acknowledged.completed.push(id);
            first.send_modify(|completed| *completed += 1);
        }
    }
    acknowledged
}

fn output(status: OrchestrationStatus) -> Option<String> {
    if let OrchestrationStatus::Completed { output, .. } = status { Some(output) } else { None }
}

/// Reads until the store responds.
async fn until_read<T, E, F>(mut read: impl FnMut() -> F) -> T
where
    F: Future<Output = Result<T, E>>,
{
    let reads = async {
        loop {
            if let Ok(value) = read().await {
                return value;
            }
            tokio::time::sleep(STEP).await;
        }
    };
    tokio::time::timeout(END_WITHIN, reads).await.expect("the store responds")
}

/// Events have consecutive numbers, and each activity and timer counts once.
fn check(history: &[Event]) {
    assert!((1..).zip(history).all(|(number, event)| event.event_id() == number));
    let mut sources = HashSet::new();
    for event in history {
        if matches!(event.kind, EventKind::ActivityCompleted { .. } | EventKind::TimerFired { .. })
        {
            assert!(sources.insert(event.source_event_id), "counted twice: {event:?}");
        }
    }
    assert_eq!(sources.len(), 2 * usize::try_from(STEPS).unwrap());
}
