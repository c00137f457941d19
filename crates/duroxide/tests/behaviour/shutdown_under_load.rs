//! Stopping a node that is in the middle of everything (24.1 to 24.6).

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::providers::Provider;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, Client, Event, OrchestrationContext, OrchestrationStatus};

use crate::support::{
    Diary, Mode, Node, PATIENCE, activities, count, in_every_mode, memory, orchestrations, until,
};

const INSTANCES: usize = 40;

/// Work of every kind: steps, a fan, a session, a timer, a child, a race that is lost.
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

fn steps(diary: &Diary) -> ActivityRegistryBuilder {
    let diary = diary.clone();
    activities()
        .register("Step", move |_: ActivityContext, input: String| {
            let diary = diary.clone();
            async move {
                tokio::time::sleep(Duration::from_millis(3)).await;
                diary.write(input.as_str());
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
        // What an aborted node held is redelivered after these.
        worker_lock_timeout: Duration::from_millis(500),
        worker_lock_renewal_buffer: Duration::ZERO,
        orchestrator_lock_timeout: Duration::from_millis(500),
        session_lock_timeout: Duration::from_millis(500),
        ..mode.options()
    }
}

/// Tasks of the whole executor.
fn tasks_alive() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

async fn a_busy_node_stops_and_leaves_nothing_behind_and_the_next_one_finishes(mode: Mode) {
    let store: Arc<dyn Provider> = memory().await;
    let (client, diary) = (Client::new(store.clone()), Diary::default());
    let tasks_before = tasks_alive();
    for instance in 0..INSTANCES {
        let id = format!("mixed-{instance}");
        client.start_orchestration(&id, "Mixed", format!("s{}", instance % 5)).await.unwrap();
    }
    for grace in [Some(0), Some(1), Some(10), None] {
        let node = Node::on(&store, options(mode), mixed(), steps(&diary)).await;
        // It is in the middle of it.
        for _step in 0..5 {
            diary.next().await;
        }
        let asked = Instant::now();
        let Node { runtime, client: its, store: too } = node;
        drop((its, too));
        let runtime_weak = Arc::downgrade(&runtime);
        runtime.shutdown(grace).await;
        let limit = Duration::from_millis(grace.unwrap_or(1_000)) + Duration::from_secs(5);
        assert!(asked.elapsed() < limit, "took {:?}", asked.elapsed());
        assert!(runtime_weak.upgrade().is_none(), "nobody holds the runtime");
        // One handle is ours and one the client's.
        assert_eq!(Arc::strong_count(&store), 2, "grace {grace:?}");
        // A task that was told to end may take a moment to be gone from the executor.
        until(|| tasks_alive() <= tasks_before).await;
        diary.unread();
    }
    let node = Node::on(&store, options(mode), mixed(), steps(&diary)).await;
    for instance in 0..INSTANCES {
        let id = format!("mixed-{instance}");
        let ended = client.wait_for_orchestration(&id, PATIENCE).await.unwrap();
        let OrchestrationStatus::Completed { output, .. } = ended else { panic!("{ended:?}") };
        assert_eq!(output, "first 0 1 2 session child", "{id}");
        assert_sound(&node.history(&id).await);
    }
    node.stop().await;
}

/// Nothing is recorded twice, whatever was redelivered.
fn assert_sound(history: &[Event]) {
    assert!(history.iter().map(|event| event.event_id).eq(1..=history.len() as u64));
    assert_eq!(count(history, "ActivityScheduled"), 6);
    assert_eq!(count(history, "ActivityCompleted"), 5);
    assert_eq!(count(history, "ActivityCancelRequested"), 1);
    assert_eq!(count(history, "SubOrchestrationCompleted"), 1);
    assert_eq!(count(history, "OrchestrationCompleted"), 1);
}

in_every_mode! {
    a_busy_node_stops_and_leaves_nothing_behind_and_the_next_one_finishes,
}
