//! Sessions (17.1 to 17.5).

use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationStatus};
use tokio::sync::Semaphore;

use crate::support::{
    Diary, Mode, Node, PATIENCE, USUAL, activities, in_every_mode, memory, memory_with_clock,
    orchestrations,
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

fn where_am_i() -> ActivityRegistryBuilder {
    activities().register("Where", |ctx: ActivityContext, _: String| async move {
        Ok(ctx.worker_id().to_owned())
    })
}

/// An activity that waits for a permit.
fn held(diary: &Diary, permits: &Arc<Semaphore>) -> ActivityRegistryBuilder {
    let (diary, permits) = (diary.clone(), permits.clone());
    where_am_i().register("Held", move |ctx: ActivityContext, _: String| {
        let (diary, permits) = (diary.clone(), permits.clone());
        async move {
            diary.write(ctx.instance_id());
            permits.acquire().await.unwrap().forget();
            Ok(String::new())
        }
    })
}

/// The slot that owns the session was busy when the waiting fetch began.
async fn a_session_is_served_by_its_slot_without_delay(mode: Mode) {
    let registry = orchestrations().register("Three", three_calls);
    let node = Node::start(mode, registry, where_am_i()).await;
    for session in ["a", "b", "c"] {
        node.begin(session, "Three", session).await;
    }
    for session in ["a", "b", "c"] {
        node.until_kind(session, "ExternalSubscribed").await;
        node.client.raise_event(session, "Go", "").await.unwrap();
        let ended = node.client.wait_for_orchestration_typed::<bool>(session, SOON).await;
        assert_eq!(ended.unwrap(), Ok(true));
    }
    node.stop().await;
}

async fn a_session_too_many_waits_for_room(mode: Mode) {
    let (diary, permits) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let options = RuntimeOptions { max_sessions_per_runtime: 1, ..mode.options() };
    let registry = orchestrations().register("Work", works);
    let node = Node::on(&memory().await, options, registry, held(&diary, &permits)).await;
    node.begin("first", "Work", "first").await;
    assert_eq!(diary.next().await, "first");
    node.begin("second", "Work", "second").await;
    node.until_kind("second", "ActivityScheduled").await;
    permits.add_permits(1);
    node.output("first").await;
    let began = tokio::time::timeout(SOON, diary.next()).await;
    assert_eq!(began.as_deref(), Ok("second"), "as soon as there is room");
    permits.add_permits(1);
    node.output("second").await;
    node.stop().await;
}

/// The turn that hears of an activity of a session may hand over the next activity at once. That
/// one was leased and forgotten, and ran only when its lease had run out.
async fn an_activity_after_one_of_a_session_starts_at_once(mode: Mode) {
    async fn leaves(ctx: OrchestrationContext, session: String) -> Result<String, String> {
        for _ in 0..5 {
            ctx.schedule_activity_on_session("Where", "", session.as_str()).await?;
            ctx.schedule_activity("Where", "").await?;
        }
        Ok(String::new())
    }
    let registry = orchestrations().register("Leaves", leaves);
    let node = Node::start(mode, registry, where_am_i()).await;
    node.begin("leaves", "Leaves", "s").await;
    let ended = node.client.wait_for_orchestration("leaves", SOON).await;
    assert!(matches!(ended, Ok(OrchestrationStatus::Completed { .. })), "{ended:?}");
    node.stop().await;
}

in_every_mode! {
    an_activity_after_one_of_a_session_starts_at_once,
    a_session_is_served_by_its_slot_without_delay,
    a_session_too_many_waits_for_room,
}

/// More slots than one fetch used to offer: the owner of a session must be among them.
#[tokio::test]
async fn a_session_is_served_however_many_slots_are_free() {
    let registry = orchestrations().register("Three", three_calls);
    let options = RuntimeOptions { worker_concurrency: 100, ..USUAL.options() };
    let node = Node::on(&memory().await, options, registry, where_am_i()).await;
    node.begin("session", "Three", "s").await;
    node.until_kind("session", "ExternalSubscribed").await;
    node.client.raise_event("session", "Go", "").await.unwrap();
    let ended = node.client.wait_for_orchestration_typed::<bool>("session", SOON).await;
    assert_eq!(ended.unwrap(), Ok(true));
    node.stop().await;
}

#[tokio::test]
async fn a_session_moves_to_another_node_when_its_lease_runs_out() {
    let (store, clock) = memory_with_clock().await;
    let registry = || orchestrations().register("Three", three_calls);
    let node = Node::on(&store, USUAL.options(), registry(), where_am_i()).await;
    node.begin("moves", "Three", "s").await;
    node.until_kind("moves", "ExternalSubscribed").await;
    node.stop().await;
    clock.advance(Duration::from_secs(31));
    let node = Node::on(&store, USUAL.options(), registry(), where_am_i()).await;
    node.client.raise_event("moves", "Go", "").await.unwrap();
    let ended = node.client.wait_for_orchestration_typed::<bool>("moves", PATIENCE).await;
    assert_eq!(ended.unwrap(), Ok(false), "another worker");
    node.stop().await;
}
