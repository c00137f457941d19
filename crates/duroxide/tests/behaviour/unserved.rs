//! The list of work that no live worker serves.

use std::sync::Arc;
use std::time::Duration;

use duroxide::client::{UnservedReason, UnservedWork};
use duroxide::providers::{Provider, TagFilter};
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, Client, OrchestrationContext};

use crate::crashing_node::CrashingNode;
use crate::support::{
    DEFAULT_MODE, Journal, NOW_MS, Node, activities, memory_with_clock, orchestrations, within,
};

/// After this time a crashed node no longer counts as live.
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
    RuntimeOptions { worker_tag_filter: filter, ..DEFAULT_MODE.options() }
}

fn summary(unserved: &[UnservedWork]) -> Vec<(&str, UnservedReason)> {
    unserved.iter().map(|it| (it.work.activity_name.as_str(), it.reason)).collect()
}

/// Waits until the list of unserved work is as wanted.
async fn until_unserved(client: &Client, wanted: &[(&str, UnservedReason)]) -> Vec<UnservedWork> {
    let mut last = Vec::new();
    let polling = async {
        loop {
            let unserved = client.list_unserved_work(100).await.unwrap();
            if summary(&unserved) == wanted {
                return unserved;
            }
            last = unserved;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    match tokio::time::timeout(crate::support::TIMEOUT, polling).await {
        Ok(unserved) => unserved,
        Err(_) => panic!("wanted {wanted:?}, but {:?}", summary(&last)),
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
    let options = RuntimeOptions { worker_concurrency: 0, ..DEFAULT_MODE.options() };
    Node::on(store, options, calling(), activities()).await
}

#[tokio::test]
async fn the_list_follows_workers_that_start_and_stop() {
    let (store, _clock) = memory_with_clock().await;
    let node = without_workers(&store).await;
    let client = &node.client;
    assert!(client.list_unserved_work(100).await.unwrap().is_empty(), "nothing waits");
    node.start_instance("order", "Calls", "Plain Resize@gpu").await;
    node.wait_for_event("order", "ActivityScheduled").await;
    let no_worker = UnservedReason::NoWorkerForTag;
    let all = until_unserved(client, &[("Plain", no_worker), ("Resize", no_worker)]).await;
    assert!(client.list_live_workers().await.unwrap().is_empty());
    let resize = &all[1].work;
    assert_eq!((resize.instance_id.as_str(), resize.execution_id), ("order", 1));
    assert_eq!((resize.activity_id, resize.tag.as_deref()), (3, Some("gpu")));
    assert_eq!(resize.waiting_since_ms, NOW_MS);
    assert_eq!(
        client.list_unserved_work(1).await.unwrap(),
        all[..1],
        "at most as many as requested"
    );

    // This worker accepts the tag and lacks the handler.
    let lacking = Node::on(&store, serving(TagFilter::any()), calling(), handlers(&[])).await;
    let no_handler = UnservedReason::NoHandler;
    until_unserved(client, &[("Plain", no_handler), ("Resize", no_handler)]).await;
    lacking.stop().await;
    until_unserved(client, &[("Plain", no_worker), ("Resize", no_worker)]).await;

    // This worker may lease the activity before it announces itself.
    let gpu = serving(TagFilter::tags(["gpu"]));
    let gpu = Node::on(&store, gpu, calling(), handlers(&["Resize"])).await;
    until_unserved(client, &[("Plain", no_worker)]).await;
    let live = within(async {
        loop {
            let live = client.list_live_workers().await.unwrap();
            if !live.is_empty() {
                return live;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(live.len(), 1);
    assert_eq!(
        (&live[0].tag_filter, &live[0].activities[..]),
        (&TagFilter::tags(["gpu"]), &["Resize".to_owned()][..])
    );
    gpu.stop().await;
    node.stop().await;
}

#[tokio::test]
async fn a_crashed_worker_expires() {
    let (store, clock) = memory_with_clock().await;
    let node = without_workers(&store).await;
    let journal = Journal::default();
    let gpu = serving(TagFilter::tags(["gpu"]));
    let crashing = CrashingNode::on(&store, gpu, calling(), hanging(&journal)).await;
    until_live(&node.client, 1).await;
    node.start_instance("order", "Calls", "Resize@gpu").await;
    assert_eq!(journal.next().await, "started");
    crashing.crash().await;
    clock.advance(GONE_AFTER - Duration::from_millis(1));
    assert!(node.client.list_unserved_work(100).await.unwrap().is_empty(), "it may still be alive");
    clock.advance(Duration::from_millis(1));
    until_unserved(&node.client, &[("Resize", UnservedReason::NoWorkerForTag)]).await;
    assert!(node.client.list_live_workers().await.unwrap().is_empty());
    node.stop().await;
}

/// An activity that never completes.
fn hanging(journal: &Journal) -> ActivityRegistryBuilder {
    let journal = journal.clone();
    activities().register("Resize", move |_: ActivityContext, _: String| {
        journal.write("started");
        std::future::pending()
    })
}

/// Every worker runs the built-in activities, which programs do not register.
#[tokio::test]
async fn every_worker_serves_system_calls() {
    async fn new_guid(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.new_guid().await
    }
    let (store, _clock) = memory_with_clock().await;
    let registry = || orchestrations().register("NewGuid", new_guid);
    let options = RuntimeOptions { worker_concurrency: 0, ..DEFAULT_MODE.options() };
    let node = Node::on(&store, options, registry(), activities()).await;
    node.start_instance("order", "NewGuid", "").await;
    node.wait_for_event("order", "ActivityScheduled").await;
    assert_eq!(node.client.list_unserved_work(100).await.unwrap().len(), 1, "no worker is live");
    let announcement =
        duroxide::providers::WorkerAnnouncement::new("elsewhere".to_owned(), GONE_AFTER)
            .with_tag_filter(TagFilter::default_only())
            .with_activities(Vec::new());
    store.announce_worker(&announcement).await.unwrap();
    assert!(node.client.list_unserved_work(100).await.unwrap().is_empty());
    node.stop().await;
}
