//! Work that no live worker serves, as operators see it.

use std::sync::Arc;
use std::time::Duration;

use duroxide::client::{UnservedReason, UnservedWork};
use duroxide::providers::{Provider, TagFilter};
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, Client, OrchestrationContext};

use crate::doomed::Doomed;
use crate::support::{
    Diary, NOW_MS, Node, USUAL, activities, memory_with_clock, orchestrations, within,
};

/// After this time a dead node is not counted as live.
const GONE_AFTER: Duration = Duration::from_secs(90);

/// Calls the activities of a list like `Plain Resize@gpu`.
async fn calls(ctx: OrchestrationContext, list: String) -> Result<String, String> {
    let calls = list.split(' ').map(|call| match call.split_once('@') {
        Some((name, tag)) => ctx.schedule_activity(name, "").with_tag(tag),
        None => ctx.schedule_activity(call, ""),
    });
    let results = ctx.join(calls.collect()).await;
    Ok(results.len().to_string())
}

fn calling() -> OrchestrationRegistryBuilder {
    orchestrations().register("Calls", calls)
}

fn handlers(names: &[&str]) -> ActivityRegistryBuilder {
    names.iter().fold(activities(), |registry, name| {
        registry.register(*name, |_: ActivityContext, _: String| async { Ok(String::new()) })
    })
}

fn serving(filter: TagFilter) -> RuntimeOptions {
    RuntimeOptions { worker_tag_filter: filter, ..USUAL.options() }
}

fn told(unserved: &[UnservedWork]) -> Vec<(&str, UnservedReason)> {
    unserved.iter().map(|it| (it.work.activity_name.as_str(), it.reason)).collect()
}

/// Waits until the list of what nobody serves is as wanted.
async fn until_unserved(client: &Client, wanted: &[(&str, UnservedReason)]) -> Vec<UnservedWork> {
    let mut last = Vec::new();
    let looking = async {
        loop {
            let unserved = client.list_unserved_work(100).await.unwrap();
            if told(&unserved) == wanted {
                return unserved;
            }
            last = unserved;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    match tokio::time::timeout(crate::support::PATIENCE, looking).await {
        Ok(unserved) => unserved,
        Err(_) => panic!("wanted {wanted:?}, but {:?}", told(&last)),
    }
}

async fn until_live(client: &Client, count: usize) {
    within(async {
        while client.list_live_workers().await.unwrap().len() != count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

async fn without_workers(store: &Arc<dyn Provider>) -> Node {
    let options = RuntimeOptions { worker_concurrency: 0, ..USUAL.options() };
    Node::on(store, options, calling(), activities()).await
}

#[tokio::test]
async fn the_list_follows_workers_that_start_and_stop() {
    let (store, _clock) = memory_with_clock().await;
    let node = without_workers(&store).await;
    let client = &node.client;
    assert!(client.list_unserved_work(100).await.unwrap().is_empty(), "nothing waits");
    node.begin("order", "Calls", "Plain Resize@gpu").await;
    node.until_kind("order", "ActivityScheduled").await;
    let no_worker = UnservedReason::NoWorkerForTag;
    let all = until_unserved(client, &[("Plain", no_worker), ("Resize", no_worker)]).await;
    assert!(client.list_live_workers().await.unwrap().is_empty());
    let resize = &all[1].work;
    assert_eq!((resize.instance_id.as_str(), resize.execution_id), ("order", 1));
    assert_eq!((resize.activity_id, resize.tag.as_deref()), (3, Some("gpu")));
    assert_eq!(resize.waiting_since_ms, NOW_MS);
    assert_eq!(client.list_unserved_work(1).await.unwrap(), all[..1], "as many as asked for");

    // It takes the tag and lacks the handler.
    let lacking = Node::on(&store, serving(TagFilter::any()), calling(), handlers(&[])).await;
    let no_handler = UnservedReason::NoHandler;
    until_unserved(client, &[("Plain", no_handler), ("Resize", no_handler)]).await;
    lacking.stop().await;
    until_unserved(client, &[("Plain", no_worker), ("Resize", no_worker)]).await;

    // What was given back is hidden for a while, hence still waits; but it is served.
    let gpu = serving(TagFilter::tags(["gpu"]));
    let gpu = Node::on(&store, gpu, calling(), handlers(&["Resize"])).await;
    until_unserved(client, &[("Plain", no_worker)]).await;
    let live = client.list_live_workers().await.unwrap();
    assert_eq!(live.len(), 1);
    assert_eq!(
        (&live[0].tag_filter, &live[0].activities[..]),
        (&TagFilter::tags(["gpu"]), &["Resize".to_owned()][..])
    );
    gpu.stop().await;
    node.stop().await;
}

#[tokio::test]
async fn a_worker_that_died_counts_as_gone_after_a_while() {
    let (store, clock) = memory_with_clock().await;
    let node = without_workers(&store).await;
    let diary = Diary::default();
    let gpu = serving(TagFilter::tags(["gpu"]));
    let doomed = Doomed::on(&store, gpu, calling(), hanging(&diary)).await;
    until_live(&node.client, 1).await;
    node.begin("order", "Calls", "Resize@gpu").await;
    assert_eq!(diary.next().await, "began");
    doomed.die().await;
    clock.advance(GONE_AFTER - Duration::from_millis(1));
    assert!(node.client.list_unserved_work(100).await.unwrap().is_empty(), "it may be alive");
    clock.advance(Duration::from_millis(1));
    until_unserved(&node.client, &[("Resize", UnservedReason::NoWorkerForTag)]).await;
    assert!(node.client.list_live_workers().await.unwrap().is_empty());
    node.stop().await;
}

/// An activity that never ends.
fn hanging(diary: &Diary) -> ActivityRegistryBuilder {
    let diary = diary.clone();
    activities().register("Resize", move |_: ActivityContext, _: String| {
        diary.write("began");
        std::future::pending()
    })
}

/// Every worker runs the activities of the runtime itself, though nobody registers them.
#[tokio::test]
async fn calls_of_the_system_are_served_by_every_worker() {
    async fn asks(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.new_guid().await
    }
    let (store, _clock) = memory_with_clock().await;
    let registry = || orchestrations().register("Asks", asks);
    let options = RuntimeOptions { worker_concurrency: 0, ..USUAL.options() };
    let node = Node::on(&store, options, registry(), activities()).await;
    node.begin("order", "Asks", "").await;
    node.until_kind("order", "ActivityScheduled").await;
    assert_eq!(node.client.list_unserved_work(100).await.unwrap().len(), 1, "there is no worker");
    let announcement = duroxide::providers::WorkerAnnouncement {
        node_id: "elsewhere".to_owned(),
        tag_filter: TagFilter::default_only(),
        activities: Vec::new(),
        expires_in: GONE_AFTER,
    };
    store.announce_worker(&announcement).await.unwrap();
    assert!(node.client.list_unserved_work(100).await.unwrap().is_empty());
    node.stop().await;
}
