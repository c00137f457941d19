//! Sessions: affinity, capacity and expiry.

use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationStatus};
use tokio::sync::Semaphore;

use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, TIMEOUT, activities, in_every_mode, memory,
    memory_with_clock, orchestrations,
};

/// Much less than the time that a fetch waits for work.
const SOON: Duration = Duration::from_secs(10);

/// Three calls in one session, with a pause before the last.
async fn three_calls(ctx: OrchestrationContext, session: String) -> Result<String, String> {
    let first = ctx.schedule_activity_on_session("Where", "", session.as_str()).await?;
    let second = ctx.schedule_activity_on_session("Where", "", session.as_str()).await?;
    ctx.schedule_wait("Go").await;
    let third = ctx.schedule_activity_on_session("Where", "", session.as_str()).await?;
    Ok(format!("{}", first == second && second == third))
}

async fn works(ctx: OrchestrationContext, session: String) -> Result<String, String> {
    match session.as_str() {
        "" => ctx.schedule_activity("Held", "").await,
        session => ctx.schedule_activity_on_session("Held", "", session).await,
    }
}

fn worker_id_activity() -> ActivityRegistryBuilder {
    activities().register("Where", |ctx: ActivityContext, _: String| async move {
        Ok(ctx.worker_id().to_owned())
    })
}

/// An activity that waits for a permit.
fn held(journal: &Journal, permits: &Arc<Semaphore>) -> ActivityRegistryBuilder {
    let (journal, permits) = (journal.clone(), permits.clone());
    worker_id_activity().register("Held", move |ctx: ActivityContext, _: String| {
        let (journal, permits) = (journal.clone(), permits.clone());
        async move {
            journal.write(ctx.instance_id());
            permits.acquire().await.unwrap().forget();
            Ok(String::new())
        }
    })
}

/// The slot that owns the session is busy when the waiting fetch starts.
async fn a_session_is_served_by_its_slot_without_delay(mode: Mode) {
    let registry = orchestrations().register("Three", three_calls);
    let node = Node::start(mode, registry, worker_id_activity()).await;
    for session in ["a", "b", "c"] {
        node.start_instance(session, "Three", session).await;
    }
    for session in ["a", "b", "c"] {
        node.wait_for_event(session, "ExternalSubscribed").await;
        node.client.raise_event(session, "Go", "").await.unwrap();
        let result = node.client.wait_for_orchestration_typed::<bool>(session, SOON).await;
        assert_eq!(result.unwrap(), Ok(true));
    }
    node.stop().await;
}

async fn a_session_beyond_the_limit_waits_for_a_free_place(mode: Mode) {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let options = RuntimeOptions { max_sessions_per_runtime: 1, ..mode.options() };
    let registry = orchestrations().register("Work", works);
    let node = Node::on(&memory().await, options, registry, held(&journal, &permits)).await;
    node.start_instance("first", "Work", "first").await;
    assert_eq!(journal.next().await, "first");
    node.start_instance("second", "Work", "second").await;
    node.wait_for_event("second", "ActivityScheduled").await;
    permits.add_permits(1);
    node.output("first").await;
    let next = tokio::time::timeout(SOON, journal.next()).await;
    assert_eq!(next.as_deref(), Ok("second"), "as soon as a place is free");
    permits.add_permits(1);
    node.output("second").await;
    node.stop().await;
}

/// The turn after an activity of a session may lease the next activity to its own node. The node
/// used to forget that lease, so that the activity ran only after it had expired.
async fn an_activity_after_one_of_a_session_starts_at_once(mode: Mode) {
    async fn alternates(ctx: OrchestrationContext, session: String) -> Result<String, String> {
        for _ in 0..5 {
            ctx.schedule_activity_on_session("Where", "", session.as_str()).await?;
            ctx.schedule_activity("Where", "").await?;
        }
        Ok(String::new())
    }
    let registry = orchestrations().register("Alternates", alternates);
    let node = Node::start(mode, registry, worker_id_activity()).await;
    node.start_instance("alternates", "Alternates", "s").await;
    let result = node.client.wait_for_orchestration("alternates", SOON).await;
    assert!(matches!(result, Ok(OrchestrationStatus::Completed { .. })), "{result:?}");
    node.stop().await;
}

in_every_mode! {
    an_activity_after_one_of_a_session_starts_at_once,
    a_session_is_served_by_its_slot_without_delay,
    a_session_beyond_the_limit_waits_for_a_free_place,
}

/// One fetch used to offer fewer slots than this; the owner of the session must be among them.
#[tokio::test]
async fn a_session_is_served_with_many_free_slots() {
    let registry = orchestrations().register("Three", three_calls);
    let options = RuntimeOptions { worker_concurrency: 100, ..DEFAULT_MODE.options() };
    let node = Node::on(&memory().await, options, registry, worker_id_activity()).await;
    node.start_instance("session", "Three", "s").await;
    node.wait_for_event("session", "ExternalSubscribed").await;
    node.client.raise_event("session", "Go", "").await.unwrap();
    let result = node.client.wait_for_orchestration_typed::<bool>("session", SOON).await;
    assert_eq!(result.unwrap(), Ok(true));
    node.stop().await;
}

#[tokio::test]
async fn a_session_moves_to_another_node_when_its_lease_expires() {
    let (store, clock) = memory_with_clock().await;
    let registry = || orchestrations().register("Three", three_calls);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), worker_id_activity()).await;
    node.start_instance("moves", "Three", "s").await;
    node.wait_for_event("moves", "ExternalSubscribed").await;
    node.stop().await;
    clock.advance(Duration::from_secs(31));
    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), worker_id_activity()).await;
    node.client.raise_event("moves", "Go", "").await.unwrap();
    let result = node.client.wait_for_orchestration_typed::<bool>("moves", TIMEOUT).await;
    assert_eq!(result.unwrap(), Ok(false), "another worker");
    node.stop().await;
}
