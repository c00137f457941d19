//! Bulk acts while hosts of two builds work on one store.

use std::sync::Arc;
use std::time::Duration;

use duroxide::client::{BulkAct, BulkPhase, BulkRequest, BulkResult};
use duroxide::runtime::bulk;
use duroxide::runtime::registry::{ActivityRegistry, OrchestrationRegistryBuilder};
use duroxide::runtime::{OrchestrationRegistry, Runtime};
use duroxide::{ActivityContext, Client, Event, EventKind, OrchestrationContext};

use crate::support::{Node, Store, TIMEOUT, Workshop, orchestrations};

on_every_store!(
    an_older_host_leaves_new_acts_to_others,
    an_act_that_an_older_build_started_goes_on,
);

fn code() -> OrchestrationRegistryBuilder {
    orchestrations().register("Wait", |ctx: OrchestrationContext, _: String| async move {
        Ok(ctx.schedule_wait("never").await)
    })
}

/// A host of the first build with bulk acts, which understands none of these.
async fn older_host(store: &Store) -> Arc<Runtime> {
    let refuse = |_: OrchestrationContext, _: String| async {
        Err::<String, _>("not a bulk act: unknown variant".to_owned())
    };
    let orchestrations = OrchestrationRegistry::builder()
        .register("duroxide.bulk", refuse)
        .register("Echo", |_: OrchestrationContext, input: String| async move { Ok(input) })
        .build();
    let unknown = |_: ActivityContext, _: String| async {
        Err::<String, _>("unknown variant of an act".to_owned())
    };
    let activities = ActivityRegistry::builder()
        .register("duroxide.bulk.freeze", unknown)
        .register("duroxide.bulk.apply", unknown)
        .build();
    Runtime::start_with_store(Arc::clone(store), activities, orchestrations).await
}

/// The activities that an execution scheduled.
fn scheduled(history: &[Event]) -> Vec<&str> {
    let names = history.iter().filter_map(|event| match &event.kind {
        EventKind::ActivityScheduled { name, .. } => Some(name.as_str()),
        _ => None,
    });
    names.collect()
}

async fn version(client: &Client, act: &str) -> String {
    client.get_instance_info(act).await.unwrap().orchestration_version
}

/// A start without a version went to any host, and one that does not know the act failed it.
async fn an_older_host_leaves_new_acts_to_others(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    node.start_instance("w", "Wait", "").await;
    node.until_event("w", "ExternalSubscribed").await;
    let older = older_host(&store).await;
    let act = BulkAct::request_cancellation(Duration::ZERO);
    let request = BulkRequest::of_ids(act, ["w"]).by("mara", "over");
    let act = node.client.start_bulk(&request).await.unwrap();
    // The older host has had its chance.
    node.start_instance("echo", "Echo", "x").await;
    assert_eq!(node.output("echo").await, "x");
    let host = bulk::host(Arc::clone(&store)).await;
    let done = node.client.wait_for_bulk(&act, TIMEOUT).await.unwrap();
    assert_eq!((done.phase, done.error.as_deref(), done.done), (BulkPhase::Finished, None, 1));
    assert_eq!(version(&node.client, &act).await, "2.0.0");
    assert!(node.failure("w").await.contains("over"));
    host.shutdown(None).await;
    older.shutdown(None).await;
    node.stop().await;
}

async fn an_act_that_an_older_build_started_goes_on(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    node.start_instance("w", "Wait", "").await;
    node.until_event("w", "ExternalSubscribed").await;
    let input = concat!(
        r#"{"act":{"kind":"terminate"},"by":"mara","reason":"over","#,
        r#""filter":"name:Wait","stage":{"freeze":{"after":null}},"pages":[],"#,
        r#""counts":{"frozen":0,"done":0,"not_found":0,"failed":0}}"#
    );
    node.client
        .start_orchestration_versioned("act", "duroxide.bulk", "1.0.0", input)
        .await
        .unwrap();
    // Its first turn runs here; the node stops while its activity waits.
    let turns = orchestrations().merge(bulk::orchestrations()).build();
    let activities = ActivityRegistry::builder().build();
    let first = Runtime::start_with_store(Arc::clone(&store), activities, turns).await;
    node.until("act", |history| scheduled(history) == ["duroxide.bulk.freeze"]).await;
    first.shutdown(None).await;
    let host = bulk::host(Arc::clone(&store)).await;
    let done = node.client.wait_for_bulk("act", TIMEOUT).await.unwrap();
    assert_eq!((done.phase, done.error.as_deref(), done.done), (BulkPhase::Finished, None, 1));
    let first = node.client.read_execution_history("act", 1).await.unwrap();
    assert_eq!(scheduled(&first), ["duroxide.bulk.freeze"]);
    let part = node.client.read_bulk_outcomes("act", 2).await.unwrap();
    assert_eq!(part.outcomes.len(), 1);
    assert_eq!(part.outcomes[0].result, BulkResult::Done);
    assert!(node.failure("w").await.contains("over"));
    host.shutdown(None).await;
    node.stop().await;
}
