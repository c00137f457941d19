//! Stopping a busy node.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, Client, Event, OrchestrationContext, OrchestrationStatus};

use crate::support::{
    Journal, Mode, Node, TIMEOUT, activities, count, eventually, in_every_mode, memory,
    orchestrations,
};

const INSTANCES: usize = 40;

/// Work of every kind: steps, a fan-out, a session, a timer, a child, a cancelled activity.
fn mixed() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Mixed", |ctx: OrchestrationContext, input: String| async move {
            let first = ctx.schedule_activity("Step", "first").await?;
            let fan = (0..3).map(|call| ctx.schedule_activity("Step", call.to_string())).collect();
            let fan: Result<Vec<String>, String> = ctx.join(fan).await.into_iter().collect();
            let session = ctx.schedule_activity_on_session("Step", "session", input).await?;
            let patient = ctx.schedule_activity("Patient", "");
            ctx.select2(patient, ctx.schedule_timer(Duration::from_millis(5))).await;
            let child = ctx.schedule_sub_orchestration("Child", "").await?;
            Ok(format!("{first} {} {session} {child}", fan?.join(" ")))
        })
        .register("Child", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Step", "child").await
        })
}

fn steps(journal: &Journal) -> ActivityRegistryBuilder {
    let journal = journal.clone();
    activities()
        .register("Step", move |_: ActivityContext, input: String| {
            let journal = journal.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(3)).await;
                journal.write(input.as_str());
                Ok(input)
            }
        })
        .register("Patient", |ctx: ActivityContext, _: String| async move {
            ctx.cancelled().await;
            Ok(String::new())
        })
}

fn options(mode: Mode) -> RuntimeOptions {
    RuntimeOptions {
        // The work of an aborted node is redelivered after these times.
        worker_lock_timeout: Duration::from_millis(500),
        worker_lock_renewal_buffer: Duration::ZERO,
        orchestrator_lock_timeout: Duration::from_millis(500),
        session_lock_timeout: Duration::from_millis(500),
        ..mode.options()
    }
}

/// Live tasks of the whole executor.
fn tasks_alive() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

async fn a_busy_node_stops_completely_and_the_next_node_completes_its_work(mode: Mode) {
    let store: Arc<dyn Provider> = memory().await;
    let (client, journal) = (Client::new(store.clone()), Journal::default());
    let tasks_before = tasks_alive();
    for instance in 0..INSTANCES {
        let id = format!("mixed-{instance}");
        client.start_orchestration(&id, "Mixed", format!("s{}", instance % 5)).await.unwrap();
    }
    for grace in [Some(0), Some(1), Some(10), None] {
        let node = Node::on(&store, options(mode), mixed(), steps(&journal)).await;
        // The node is busy.
        for _step in 0..5 {
            journal.next().await;
        }
        let start = Instant::now();
        let Node { runtime, client: its, store: too } = node;
        drop((its, too));
        let runtime_weak = Arc::downgrade(&runtime);
        runtime.shutdown(grace).await;
        let limit = Duration::from_millis(grace.unwrap_or(1_000)) + Duration::from_secs(5);
        assert!(start.elapsed() < limit, "took {:?}", start.elapsed());
        assert!(runtime_weak.upgrade().is_none(), "no task holds the runtime");
        // The test and the client each hold a handle.
        assert_eq!(Arc::strong_count(&store), 2, "grace {grace:?}");
        // The executor may take a moment to remove an aborted task.
        eventually(|| tasks_alive() <= tasks_before).await;
        journal.unread();
    }
    let node = Node::on(&store, options(mode), mixed(), steps(&journal)).await;
    for instance in 0..INSTANCES {
        let id = format!("mixed-{instance}");
        let status = client.wait_for_orchestration(&id, TIMEOUT).await.unwrap();
        let OrchestrationStatus::Completed { output, .. } = status else { panic!("{status:?}") };
        assert_eq!(output, "first 0 1 2 session child", "{id}");
        assert_recorded_once(&node.history(&id).await);
    }
    node.stop().await;
}

/// Redelivery records nothing twice.
fn assert_recorded_once(history: &[Event]) {
    assert!(history.iter().map(|event| event.event_id).eq(1..=history.len() as u64));
    assert_eq!(count(history, "ActivityScheduled"), 6);
    assert_eq!(count(history, "ActivityCompleted"), 5);
    assert_eq!(count(history, "ActivityCancelRequested"), 1);
    assert_eq!(count(history, "SubOrchestrationCompleted"), 1);
    assert_eq!(count(history, "OrchestrationCompleted"), 1);
}

in_every_mode! {
    a_busy_node_stops_completely_and_the_next_node_completes_its_work,
}
