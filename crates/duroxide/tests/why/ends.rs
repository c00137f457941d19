//! Instances that have ended, that are unknown, and that cannot be read.

use duroxide::client::StrandedReason;
use duroxide::client::why::Cause;
use duroxide::runtime::RuntimeOptions;
use duroxide::{ClientError, Event, EventKind, OrchestrationContext, current_build_version};

use crate::world::{World, activities, approval, orchestrations};

on_every_store!(
    it_has_completed,
    it_has_failed,
    it_is_unknown,
    its_history_cannot_be_decoded,
    the_json_form_is_stable,
);

fn returns(result: Result<String, String>) -> duroxide::OrchestrationRegistryBuilder {
    orchestrations().register("Order", move |_: OrchestrationContext, _: String| {
        let result = result.clone();
        async move { result }
    })
}

async fn it_has_completed(world: World) {
    let code = returns(Ok("paid".to_owned()));
    let node = world.node(RuntimeOptions::default(), code, activities()).await;
    world.start("order-7", "Order").await;
    let why = world
        .expect(
            "order-7",
            r"
order-7 has completed

orchestration `Order 1.0.0`, execution 1, 2 events
ended 2023-11-14 22:13:20Z (now)
",
        )
        .await;
    assert_eq!(why.cause, Cause::Ended);
    node.shutdown(None).await;
}

async fn it_has_failed(world: World) {
    let code = returns(Err("the card was declined\nby the bank".to_owned()));
    let node = world.node(RuntimeOptions::default(), code, activities()).await;
    world.start("it's order 7", "Order").await;
    world
        .expect(
            "it's order 7",
            r"
it's order 7 has failed: the card was declined by the bank
  try: duroxide retry 'it'\''s order 7'  (runs what failed again)
  try: duroxide history 'it'\''s order 7'  (shows what it has done)

orchestration `Order 1.0.0`, execution 1, 2 events
ended 2023-11-14 22:13:20Z (now)
",
        )
        .await;
    node.shutdown(None).await;
}

async fn it_is_unknown(world: World) {
    world.client.enqueue_event("order-7", "payments", "early").await.unwrap();
    let unknown = world.client.why("order-7").await;
    let Err(ClientError::InstanceNotFound { instance_id }) = unknown else {
        panic!("{unknown:?}");
    };
    assert_eq!(instance_id, "order-7");
}

async fn its_history_cannot_be_decoded(world: World) {
    let node = world.node(RuntimeOptions::default(), approval(), activities()).await;
    world.start("order-7", "Order").await;
    world.until("order-7", |why| why.waits.total > 0).await;
    node.shutdown(None).await;
    let (name, topic) = ("Shipped".to_owned(), "7".to_owned());
    let kind = EventKind::ExternalSubscribed2 { name, topic };
    let mut later = Event::with_event_id(3, "order-7", 1, None, kind);
    later.duroxide_version = "9.9.0".to_owned();
    world.store.append_with_execution("order-7", 1, vec![later]).await.unwrap();
    let expected = UNDECODABLE.replace("BUILD", &current_build_version().to_string());
    let why = world.expect("order-7", &expected).await;
    assert_eq!(why.cause, Cause::HistoryUndecodable);
}

async fn the_json_form_is_stable(world: World) {
    let album = |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_activity("Resize", "").with_tag("gpu").await
    };
    let code = orchestrations().register("Album", album);
    let node = world.node(RuntimeOptions::default(), code, activities()).await;
    world.start("album", "Album").await;
    let reason = StrandedReason::TagWithoutWorker;
    let stranded = Cause::ActivityStranded { activity_id: 2, reason };
    let why = world.until("album", |why| why.cause == stranded).await;
    let expected = JSON.replace("BUILD", &current_build_version().to_string());
    let expected: serde_json::Value = serde_json::from_str(&expected).unwrap();
    assert_eq!(serde_json::to_value(why).unwrap(), expected);
    node.shutdown(None).await;
}

const JSON: &str = r#"{
    "instance": "album", "now_ms": 1700000000000,
    "cause": {
        "kind": "activity_stranded", "activity_id": 2,
        "reason": {"reason": "tag", "text": "no live node serves its tag"}
    },
    "next": [
        {
            "command": null,
            "text": "start a worker that serves tag `gpu` and has registered activity `Resize`"
        },
        {"command": "duroxide nodes", "text": "lists the live nodes and what they run"}
    ],
    "orchestration": "Album", "version": "1.0.0", "pin": "BUILD", "execution_id": 1,
    "parent": null, "created_at_ms": 1700000000000, "updated_at_ms": 1700000000000, "events": 2,
    "ended": null, "start": null, "suspended": null, "cancel_requested": null,
    "undecodable": null,
    "turn": {
        "is_known": true, "leased_until_ms": null, "ready_since_ms": null, "attempts": 0,
        "unread": [], "has_more_unread": false, "stranded": null
    },
    "activities": {
        "total": 1,
        "items": [{
            "activity_id": 2, "name": "Resize", "tag": "gpu", "session_id": null,
            "scheduled_at_ms": 1700000000000,
            "state": {"kind": "queued", "since_ms": 1700000000000},
            "fetches": 0, "failures": null, "start_by_ms": null, "progress": null,
            "stranded": {"reason": "tag", "text": "no live node serves its tag"}
        }]
    },
    "timers": {"total": 0, "items": []}, "waits": {"total": 0, "items": []},
    "queues": {"total": 0, "items": []}, "children": {"total": 0, "items": []},
    "buffered": {"total": 0, "items": []}, "missed": {"total": 0, "items": []},
    "limits": []
}"#;

const UNDECODABLE: &str = r"
order-7 has an event that this build cannot decode
  try: ask with a build of Duroxide 9.9.0, which wrote the event
  try: duroxide history order-7  (shows the events as they are stored)
  try: duroxide terminate order-7  (ends it without its history)

orchestration `Order 1.0.0`, execution 1, 3 events
last changed 2023-11-14 22:13:20Z (now)
undecodable events, so that this list may be incomplete:
  event 3, kind `ExternalSubscribed2`, written by Duroxide 9.9.0, history deserialization failed:
    unknown variant for version BUILD at line 1 column 192
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (now)
next turn:
  no live node runs such work
";
