//! Work whose handler is not registered on any node.

use std::sync::Arc;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions, UnregisteredWork};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};

use crate::logs;
use crate::test_node::{TempStore, TestNode, eventually, options};

#[tokio::test]
async fn unknown_names_and_versions_become_poison_and_other_work_continues() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    let client = &node.client;
    client.start_orchestration("no-name", "Nothing", "").await.unwrap();
    client.start_orchestration_versioned("no-version", "One", "9.9.9", "").await.unwrap();
    client.start_orchestration_versioned("no-semver", "One", "latest", "").await.unwrap_err();
    node.assert_works("beside-unknown").await;
    for id in ["no-name", "no-version"] {
        let failure = node.failure(id).await;
        let expected = format!("poison: orchestration {id} exceeded 3 attempts (max 2): ");
        assert!(failure.starts_with(&expected), "{failure}");
        assert!(logs::contain(&[id, "is not registered on this node"]), "{id}");
    }
    node.stop().await;
}

#[tokio::test]
async fn an_unknown_activity_fails_its_orchestration_and_other_work_continues() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    node.client.start_orchestration("unserved", "Unserved", "").await.unwrap();
    node.assert_works("beside-unserved").await;
    let failure = node.failure("unserved").await;
    assert!(failure.starts_with("poison: activity NotRegistered#2 exceeded 3"), "{failure}");
    assert!(logs::contain(&["unserved", "NotRegistered", "is not registered on this node"]));
    node.stop().await;
}

#[tokio::test]
async fn unregistered_work_waits_with_backoff_for_a_node_that_serves_it() {
    let files = TempStore::new();
    let store = files.open().await;
    let many_attempts = RuntimeOptions { max_attempts: 1_000, ..options() };
    let node = TestNode::with(store.clone(), many_attempts.clone()).await;
    node.client.start_orchestration("early", "Later", "worth it").await.unwrap();
    eventually("the node abandons the start", || logs::contain(&["early", "attempt_count=3"]))
        .await;
    node.assert_works("beside-early").await;

    let activities = ActivityRegistry::builder()
        .register("LaterStep", |_ctx: ActivityContext, input: String| async move { Ok(input) })
        .build();
    let orchestrations = OrchestrationRegistry::builder()
        .register("Later", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("LaterStep", input).await
        })
        .build();
    let newer = Runtime::start_with_options(
        Arc::clone(&store) as _,
        activities,
        orchestrations,
        many_attempts,
    )
    .await;
    assert_eq!(node.output("early").await, "worth it");
    newer.shutdown(None).await;
    node.stop().await;
}

/// By default no node fetches such a start, so that nothing mentioned it.
#[tokio::test]
async fn a_node_warns_of_a_start_that_no_live_node_can_run() {
    let files = TempStore::new();
    let store = files.open().await;
    let client = Client::new(Arc::clone(&store) as _);
    client.start_orchestration("mistyped", "StrandedOdrer", "").await.unwrap();
    client.start_orchestration_versioned("too-early", "One", "7.0.0", "").await.unwrap();
    let waiting = options().with_unregistered_work(UnregisteredWork::Wait);
    let node = TestNode::with(store, waiting).await;
    node.assert_works("beside-stranded").await;
    let text = "no live node can run this work";
    eventually("the node warns of the name", || {
        logs::contain(&["WARN", "mistyped", "StrandedOdrer", text])
    })
    .await;
    eventually("the node warns of the version", || {
        logs::contain(&["WARN", "too-early", "7.0.0", text])
    })
    .await;
    node.stop().await;
}

/// Nothing is dropped silently: the log names a signal and a queue message that came too late.
#[tokio::test]
async fn messages_for_an_instance_that_has_ended_are_named_in_the_log() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    node.assert_works("ended-before").await;
    node.client.raise_event("ended-before", "Late", "").await.unwrap();
    node.client.enqueue_event("ended-before", "late", "").await.unwrap();
    for kind in ["ExternalRaised", "QueueMessage"] {
        eventually("the node warns of the messages", || {
            let reason = "the instance has finished";
            logs::contain(&["WARN", "ended-before", "discarded messages of clients", kind, reason])
        })
        .await;
    }
    node.stop().await;
}
