//! Acts on many instances: recorded, resumable, and never on themselves.

use std::time::Duration;

use duroxide::client::{
    BulkAct, BulkOutcome, BulkPhase, BulkProgress, BulkRequest, BulkResult, Client,
};
use duroxide::query::Filter;
use duroxide::runtime::bulk;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{OrchestrationContext, OrchestrationStatus};

use crate::support::{Node, Store, TIMEOUT, Workshop, orchestrations, refusal, within};

on_every_store!(
    failed_instances_are_retried_and_the_act_is_recorded,
    instances_that_come_later_are_left_alone,
    a_host_goes_on_where_another_stopped,
    two_operators_delete_the_same_instances,
    an_act_on_all_leaves_acts_alone,
    single_failures_are_recorded,
    many_instances_are_many_pages,
    acts_that_cannot_be_started_are_refused,
);

/// `Fail` calls an activity that a test can break, `Wait` waits for ever.
fn code() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Work", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("work", input).await
        })
        .register("Wait", |ctx: OrchestrationContext, _: String| async move {
            ctx.set_kv_value("waits", "yes");
            Ok(ctx.schedule_wait("never").await)
        })
        .register("Echo", |_: OrchestrationContext, input: String| async move { Ok(input) })
}

fn filter(text: &str) -> Filter {
    Filter::parse(text).unwrap()
}

async fn start(node: &Node, prefix: &str, name: &str, count: usize) {
    for number in 0..count {
        node.start_instance(&format!("{prefix}-{number:04}"), name, "x").await;
    }
}

async fn waiting(node: &Node, prefix: &str, count: usize) {
    start(node, prefix, "Wait", count).await;
    for number in 0..count {
        let id = format!("{prefix}-{number:04}");
        node.client.wait_for_kv_value(&id, "waits", TIMEOUT).await.unwrap();
    }
}

async fn finished(client: &Client, act: &str) -> BulkProgress {
    client.wait_for_bulk(act, TIMEOUT * 4).await.unwrap()
}

async fn outcomes(client: &Client, act: &str) -> Vec<BulkOutcome> {
    let (mut place, mut found) = (0, Vec::new());
    loop {
        let part = client.read_bulk_outcomes(act, place).await.unwrap();
        found.extend(part.outcomes);
        let Some(next) = part.next else { return found };
        place = next;
    }
}

async fn matching(client: &Client, text: &str) -> u64 {
    client.count_instances(&filter(text)).await.unwrap().counted()
}

/// Waits until the act has this phase or is over.
async fn reached(client: &Client, act: &str, phase: BulkPhase) -> BulkProgress {
    within(async {
        loop {
            match client.get_bulk(act).await {
                Ok(progress) if progress.phase == phase || progress.phase.is_over() => {
                    return progress;
                }
                // A host has not started it yet.
                Ok(_) | Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await
}

async fn failed_instances_are_retried_and_the_act_is_recorded(store: Store) {
    let shop = Workshop::default();
    shop.break_input("x", "no");
    let node = Node::start(&store, &shop, code()).await;
    start(&node, "f", "Work", 120).await;
    for number in 0..120 {
        assert_eq!(node.failure(&format!("f-{number:04}")).await, "no");
    }
    shop.repair();
    let request = BulkRequest::matching(BulkAct::Retry, filter("status:failed name:Work"))
        .by("mara", "the bank has recovered");
    let plan = node.client.plan_bulk(&request).await.unwrap();
    assert_eq!((plan.count, plan.is_exact, plan.sample.len()), (120, true, 5));
    let act = node.client.start_bulk(&request).await.unwrap();
    let host = bulk::host(store.clone()).await;
    let done = finished(&node.client, &act).await;
    assert_eq!((done.frozen, done.done, done.failed, done.not_found), (120, 120, 0, 0), "{done}");
    assert_eq!((done.phase, done.by.as_str()), (BulkPhase::Finished, "mara"));
    assert_eq!(done.reason, "the bank has recovered");
    let all = outcomes(&node.client, &act).await;
    assert_eq!(all.len(), 120);
    assert!(all.iter().all(|outcome| outcome.result == BulkResult::Done));
    assert!(all.is_sorted_by_key(|outcome| outcome.instance_id.clone()));
    for number in 0..120 {
        assert_eq!(node.output(&format!("f-{number:04}")).await, "x!");
    }
    let listed = node.client.list_bulk_acts(10).await.unwrap();
    assert_eq!(listed, [done]);
    // The same id is the same act.
    let again = request.clone().with_id(&act);
    assert_eq!(node.client.start_bulk(&again).await.unwrap(), act);
    assert_eq!(node.client.list_bulk_acts(10).await.unwrap().len(), 1);
    host.shutdown(None).await;
    node.stop().await;
}

async fn instances_that_come_later_are_left_alone(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    waiting(&node, "w", 20).await;
    let request = BulkRequest::matching(BulkAct::Terminate, filter("status:running"))
        .by("mara", "over")
        .with_rate_per_second(20);
    let act = node.client.start_bulk(&request).await.unwrap();
    let started = std::time::Instant::now();
    let host = bulk::host(store.clone()).await;
    reached(&node.client, &act, BulkPhase::Applying).await;
    waiting(&node, "late", 1).await;
    let done = finished(&node.client, &act).await;
    assert_eq!((done.frozen, done.done), (20, 20), "{done}");
    assert!(
        started.elapsed() >= Duration::from_millis(900),
        "20 a second: {:?}",
        started.elapsed()
    );
    let late = node.client.get_orchestration_status("late-0000").await.unwrap();
    assert!(matches!(late, OrchestrationStatus::Running { .. }), "{late:?}");
    assert!(node.failure("w-0019").await.contains("over"));
    host.shutdown(None).await;
    node.stop().await;
}

async fn a_host_goes_on_where_another_stopped(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    waiting(&node, "w", 30).await;
    let request = BulkRequest::matching(BulkAct::Suspend, filter("name:Wait"))
        .by("mara", "moving")
        .with_rate_per_second(5);
    let act = node.client.start_bulk(&request).await.unwrap();
    // Without a host nothing happens.
    assert_eq!(matching(&node.client, "status:suspended").await, 0);
    let host = bulk::host(store.clone()).await;
    within(async {
        while matching(&node.client, "status:suspended").await < 3 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    // Its work is aborted at once.
    host.shutdown(Some(0)).await;
    let progress = node.client.get_bulk(&act).await.unwrap();
    assert!(!progress.phase.is_over(), "{progress}");
    let host = bulk::host(store.clone()).await;
    let done = finished(&node.client, &act).await;
    assert_eq!((done.frozen, done.done, done.failed), (30, 30, 0), "{done}");
    assert_eq!(matching(&node.client, "status:suspended").await, 30);
    let ids: Vec<_> = outcomes(&node.client, &act).await;
    assert_eq!(ids.len(), 30);
    host.shutdown(None).await;
    node.stop().await;
}

async fn two_operators_delete_the_same_instances(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    start(&node, "e", "Echo", 150).await;
    for number in 0..150 {
        node.output(&format!("e-{number:04}")).await;
    }
    let delete = BulkAct::Delete { force: false };
    let mut acts = Vec::new();
    for who in ["mara", "jon"] {
        let request = BulkRequest::matching(delete, filter("name:Echo")).by(who, "old");
        acts.push(node.client.start_bulk(&request).await.unwrap());
    }
    let hosts = [bulk::host(store.clone()).await, bulk::host(store.clone()).await];
    let [one, other] =
        [finished(&node.client, &acts[0]).await, finished(&node.client, &acts[1]).await];
    // Of two deletions at the same moment, both may have deleted an instance.
    assert!(one.done + other.done >= 150, "{one} {other}");
    assert_eq!((one.failed, other.failed), (0, 0), "{one} {other}");
    assert_eq!(one.done + one.not_found, one.frozen);
    assert_eq!(other.done + other.not_found, other.frozen);
    assert_eq!(matching(&node.client, "name:Echo").await, 0);
    for host in hosts {
        host.shutdown(None).await;
    }
    node.stop().await;
}

async fn an_act_on_all_leaves_acts_alone(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    waiting(&node, "w", 3).await;
    let host = bulk::host(store.clone()).await;
    let suspend = BulkRequest::matching(BulkAct::Suspend, Filter::all()).by("jon", "");
    let earlier = node.client.start_bulk(&suspend.with_rate_per_second(1)).await.unwrap();
    reached(&node.client, &earlier, BulkPhase::Applying).await;
    let request = BulkRequest::matching(BulkAct::Terminate, Filter::all()).by("mara", "");
    assert_eq!(node.client.plan_bulk(&request).await.unwrap().count, 3);
    let act = node.client.start_bulk(&request).await.unwrap();
    let done = finished(&node.client, &act).await;
    assert_eq!((done.frozen, done.done), (3, 3), "{done}");
    assert!(node.failure("w-0000").await.contains("terminate by mara"));
    // The other act runs to its end, though its targets are gone.
    let other = finished(&node.client, &earlier).await;
    assert_eq!((other.phase, other.frozen), (BulkPhase::Finished, 3), "{other}");
    let own = BulkRequest::of_ids(BulkAct::Cancel, ["self"]).by("mara", "").with_id("self");
    node.client.start_bulk(&own).await.unwrap();
    let done = finished(&node.client, "self").await;
    assert_eq!((done.phase, done.failed), (BulkPhase::Finished, 1), "{done}");
    host.shutdown(None).await;
    node.stop().await;
}

async fn single_failures_are_recorded(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    waiting(&node, "w", 1).await;
    start(&node, "e", "Echo", 1).await;
    node.output("e-0000").await;
    let ids = ["unknown", "w-0000", "e-0000"];
    let delete = BulkAct::Delete { force: false };
    let request = BulkRequest::of_ids(delete, ids).by("mara", "old");
    let act = node.client.start_bulk(&request).await.unwrap();
    let host = bulk::host(store.clone()).await;
    let done = finished(&node.client, &act).await;
    assert_eq!((done.done, done.not_found, done.failed), (1, 1, 1), "{done}");
    let all = outcomes(&node.client, &act).await;
    let results: Vec<_> =
        all.iter().map(|outcome| (outcome.instance_id.as_str(), outcome.result)).collect();
    let expected = [
        ("unknown", BulkResult::NotFound),
        ("w-0000", BulkResult::Failed),
        ("e-0000", BulkResult::Done),
    ];
    assert_eq!(results, expected);
    assert!(all[1].detail.as_ref().unwrap().contains("still running"), "{all:?}");
    // A cancelled act stops, and says so.
    let slow = BulkRequest::matching(BulkAct::Suspend, filter("name:Wait"))
        .by("mara", "")
        .with_rate_per_second(1);
    let act = node.client.start_bulk(&slow).await.unwrap();
    reached(&node.client, &act, BulkPhase::Applying).await;
    node.client.cancel_instance(&act, "wrong filter").await.unwrap();
    let stopped = finished(&node.client, &act).await;
    assert!(stopped.phase.is_over(), "{stopped}");
    host.shutdown(None).await;
    node.stop().await;
}

async fn many_instances_are_many_pages(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    start(&node, "e", "Echo", 1_150).await;
    within(async {
        while matching(&node.client, "name:Echo status:completed").await < 1_150 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    let delete = BulkAct::Delete { force: false };
    let request = BulkRequest::matching(delete, filter("name:Echo")).by("mara", "old");
    let act = node.client.start_bulk(&request).await.unwrap();
    let host = bulk::host(store.clone()).await;
    let done = finished(&node.client, &act).await;
    assert_eq!((done.frozen, done.done), (1_150, 1_150), "{done}");
    let info = node.client.get_instance_info(&act).await.unwrap();
    assert_eq!(info.current_execution_id, 4, "two pages of ids, and two of outcomes");
    assert_eq!(outcomes(&node.client, &act).await.len(), 1_150);
    assert_eq!(matching(&node.client, "name:Echo").await, 0);
    host.shutdown(None).await;
    node.stop().await;
}

async fn acts_that_cannot_be_started_are_refused(store: Store) {
    let client = Client::new(store);
    let all = || BulkRequest::matching(BulkAct::Cancel, Filter::all());
    for (request, part) in [
        (all(), "who asks"),
        (all().by("x".repeat(5_000), ""), "4096 bytes"),
        (all().by("mara", "").with_rate_per_second(0), "rate of zero"),
        (BulkRequest::of_ids(BulkAct::Cancel, [""; 0]).by("mara", ""), "1 to 5000 ids"),
        (BulkRequest::of_ids(BulkAct::Cancel, vec!["a"; 5_001]).by("mara", ""), "1 to 5000 ids"),
        (BulkRequest::of_ids(BulkAct::Cancel, [""]).by("mara", ""), "1 to 2048 bytes"),
    ] {
        let refused = refusal(client.start_bulk(&request).await);
        assert!(refused.contains(part), "{refused}");
        assert_eq!(refusal(client.plan_bulk(&request).await), refused);
    }
    assert!(client.list_bulk_acts(10).await.unwrap().is_empty());
    assert!(client.get_bulk("none").await.is_err());
}
