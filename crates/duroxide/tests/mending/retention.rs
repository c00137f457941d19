//! Retention: what is deleted, what stays, and what the archive receives.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use duroxide::client::{
    ArchivedInstance, Client, RetentionArchive, RetentionPolicy, RetentionReport, RetentionRule,
};
use duroxide::histories::HistoryReader;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{OrchestrationContext, OrchestrationStatus};

use crate::support::{Node, Store, TIMEOUT, Workshop, orchestrations, within};

on_every_store!(
    only_what_ended_long_ago_is_deleted,
    trees_with_a_running_child_stay,
    what_the_archive_refuses_stays,
    old_executions_are_pruned,
    nodes_apply_the_policy_in_the_background,
    the_archive_of_a_node_is_tried_again,
);

const NOTHING_KEPT: Duration = Duration::ZERO;
const LONG: Duration = Duration::from_secs(3600);

fn code() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Echo", |_: OrchestrationContext, input: String| async move { Ok(input) })
        .register("Fail", |_: OrchestrationContext, input: String| async move {
            Err::<String, _>(input)
        })
        .register("Wait", |ctx: OrchestrationContext, _: String| async move {
            ctx.set_kv_value("waits", "yes");
            Ok(ctx.schedule_wait("go").await)
        })
        .register("Outer", |ctx: OrchestrationContext, child: String| async move {
            ctx.schedule_sub_orchestration_with_id("Wait", child, "").await
        })
        .register("Parent", |ctx: OrchestrationContext, child: String| async move {
            ctx.schedule_sub_orchestration_with_id("Echo", child, "x").await
        })
        .register("Loop", |ctx: OrchestrationContext, run: String| async move {
            match run.parse::<u32>().unwrap() {
                0 => Ok("done".to_owned()),
                run => ctx.continue_as_new((run - 1).to_string()).await,
            }
        })
}

/// Collects what it receives, and refuses it while it is closed.
#[derive(Clone, Default)]
struct Shelf {
    received: Arc<Mutex<Vec<ArchivedInstance>>>,
    closed: Arc<AtomicBool>,
}

#[async_trait]
impl RetentionArchive for Shelf {
    async fn archive(&self, instance: ArchivedInstance) -> Result<(), String> {
        if self.closed.load(Ordering::SeqCst) {
            return Err("the shelf is closed".to_owned());
        }
        self.received.lock().unwrap().push(instance);
        Ok(())
    }
}

impl Shelf {
    fn ids(&self) -> BTreeSet<String> {
        let received = self.received.lock().unwrap();
        received.iter().map(|instance| instance.instance_id.clone()).collect()
    }
}

/// Waits until the clock of the store has moved on: a rule that keeps nothing counts what ended
/// before this millisecond.
async fn later(node: &Node, instance: &str) {
    let row = node.client.get_instance_row(instance).await.unwrap().unwrap();
    let ended = row.ended_at_ms.unwrap();
    within(async {
        while node.store.clock().now_ms() <= ended {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

async fn run(node: &Node, instance: &str, name: &str, input: &str) {
    node.start_instance(instance, name, input).await;
    node.client.wait_for_orchestration(instance, TIMEOUT).await.unwrap();
}

async fn applied(client: &Client, policy: &RetentionPolicy) -> RetentionReport {
    client.apply_retention(policy, 1_000).await.unwrap()
}

async fn exists(client: &Client, instance: &str) -> bool {
    let status = client.get_orchestration_status(instance).await.unwrap();
    !matches!(status, OrchestrationStatus::NotFound)
}

async fn only_what_ended_long_ago_is_deleted(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    run(&node, "echo", "Echo", "x").await;
    run(&node, "fail", "Fail", "no").await;
    node.start_instance("wait", "Wait", "").await;
    node.client.wait_for_kv_value("wait", "waits", TIMEOUT).await.unwrap();
    later(&node, "fail").await;
    let client = &node.client;
    let kept = RetentionPolicy::new([RetentionRule::all().keep_for(LONG)]);
    assert_eq!(applied(client, &kept).await.instances_deleted, 0);
    let rules = [
        RetentionRule::named("Fa*").failed().keep_for(LONG),
        RetentionRule::all().keep_for(NOTHING_KEPT),
    ];
    let policy = RetentionPolicy::new(rules);
    let plan = client.plan_retention(&policy).await.unwrap();
    assert_eq!((plan.rules[0].instances, plan.rules[1].instances), (0, 1), "{plan:?}");
    assert_eq!(plan.rules[1].sample, ["echo"]);
    let report = applied(client, &policy).await;
    assert_eq!((report.instances_deleted, report.is_complete), (1, true), "{report:?}");
    assert!(!exists(client, "echo").await);
    assert!(exists(client, "fail").await, "the first rule decides");
    assert!(exists(client, "wait").await, "it runs");
    client.suspend_instance("wait", "look").await.unwrap();
    assert_eq!(applied(client, &policy).await.instances_deleted, 0, "suspended is not ended");
    node.stop().await;
}

async fn trees_with_a_running_child_stay(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    let client = &node.client;
    run(&node, "parent", "Parent", "child").await;
    later(&node, "parent").await;
    let shelf = Shelf::default();
    let policy = RetentionPolicy::new([RetentionRule::all().keep_for(NOTHING_KEPT)])
        .with_archive(shelf.clone());
    node.start_instance("outer", "Outer", "inner").await;
    client.wait_for_kv_value("inner", "waits", TIMEOUT).await.unwrap();
    let report = applied(client, &policy).await;
    assert_eq!(report.instances_deleted, 2, "the parent with its child: {report:?}");
    assert!(!exists(client, "child").await && exists(client, "inner").await);
    let ids: BTreeSet<String> = ["parent", "child"].map(str::to_owned).into();
    assert_eq!(shelf.ids(), ids);
    // What the archive holds can be read back.
    let received = shelf.received.lock().unwrap().clone();
    assert!(received.iter().all(|instance| instance.root_id == "parent"));
    for instance in received {
        let lines = instance.json_lines.as_slice();
        let mut reader = HistoryReader::new("archive", lines).unwrap();
        let history = reader.next_raw().unwrap().unwrap().decode().unwrap();
        assert_eq!(instance.executions, [1]);
        assert!(history.is_finished(), "{history:?}");
    }
    node.stop().await;
}

async fn what_the_archive_refuses_stays(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    let client = &node.client;
    for number in 0..12 {
        run(&node, &format!("e{number}"), "Echo", "x").await;
    }
    later(&node, "e11").await;
    let shelf = Shelf::default();
    shelf.closed.store(true, Ordering::SeqCst);
    let policy = RetentionPolicy::new([RetentionRule::all().keep_for(NOTHING_KEPT)])
        .with_archive(shelf.clone());
    let report = applied(client, &policy).await;
    assert_eq!((report.instances_deleted, report.refused), (0, 10), "{report:?}");
    assert!(report.error.unwrap().contains("the shelf is closed"));
    assert!(!report.is_complete, "it stops after so many refusals");
    assert!(exists(client, "e0").await && exists(client, "e11").await);
    shelf.closed.store(false, Ordering::SeqCst);
    let report = applied(client, &policy).await;
    assert_eq!((report.instances_deleted, report.archived), (12, 12), "{report:?}");
    assert_eq!(shelf.ids().len(), 12);
    // A limit ends a sweep early, and the next one goes on.
    for number in 0..3 {
        run(&node, &format!("f{number}"), "Echo", "x").await;
    }
    later(&node, "f2").await;
    let part = client.apply_retention(&policy, 2).await.unwrap();
    assert_eq!((part.instances_deleted, part.is_complete), (2, false), "{part:?}");
    let rest = client.apply_retention(&policy, 2).await.unwrap();
    assert_eq!((rest.instances_deleted, rest.is_complete), (1, true), "{rest:?}");
    node.stop().await;
}

async fn old_executions_are_pruned(store: Store) {
    let node = Node::start(&store, &Workshop::default(), code()).await;
    let client = &node.client;
    run(&node, "loop", "Loop", "5").await;
    let shelf = Shelf::default();
    let policy = RetentionPolicy::new([RetentionRule::named("Loop").keep_last(2)])
        .with_archive(shelf.clone());
    let plan = client.plan_retention(&policy).await.unwrap();
    assert_eq!(plan.rules[0].pruned_instances, 1);
    let report = applied(client, &policy).await;
    assert_eq!(report.executions_deleted, 4, "{report:?}");
    assert_eq!(client.list_executions("loop").await.unwrap(), [5, 6]);
    assert_eq!(shelf.received.lock().unwrap()[0].executions, [1, 2, 3, 4]);
    let again = applied(client, &policy).await;
    assert_eq!((again.executions_deleted, again.is_complete), (0, true), "{again:?}");
    node.stop().await;
}

async fn nodes_apply_the_policy_in_the_background(store: Store) {
    let policy = RetentionPolicy::new([RetentionRule::named("Echo").keep_for(NOTHING_KEPT)])
        .with_interval(Duration::from_millis(50));
    let options = RuntimeOptions::default().with_retention(policy);
    let shop = Workshop::default();
    let node = Node::with(&store, &shop, code(), options.clone()).await;
    let other = Node::with(&store, &shop, code(), options).await;
    node.start_instance("wait", "Wait", "").await;
    for number in 0..5 {
        node.start_instance(&format!("e{number}"), "Echo", "x").await;
    }
    gone(&node.client, 5).await;
    assert!(exists(&node.client, "wait").await);
    let own = node.client.list_executions("duroxide.retention").await.unwrap();
    assert!(own.len() <= 40, "it removes its own: {}", own.len());
    // An operator can end it; the next node starts it again.
    node.client.terminate_instance("duroxide.retention", "pause").await.unwrap();
    node.stop().await;
    other.stop().await;
    let policy = RetentionPolicy::new([RetentionRule::named("Echo").keep_for(NOTHING_KEPT)]);
    let options = RuntimeOptions::default().with_retention(policy);
    let node = Node::with(&store, &shop, code(), options).await;
    within(async {
        loop {
            let status = node.client.get_orchestration_status("duroxide.retention").await.unwrap();
            if matches!(status, OrchestrationStatus::Running { .. }) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    node.stop().await;
}

async fn the_archive_of_a_node_is_tried_again(store: Store) {
    let shelf = Shelf::default();
    shelf.closed.store(true, Ordering::SeqCst);
    let policy = RetentionPolicy::new([RetentionRule::named("Echo").keep_for(NOTHING_KEPT)])
        .with_interval(Duration::from_millis(50))
        .with_archive(shelf.clone());
    let options = RuntimeOptions::default().with_retention(policy);
    let node = Node::with(&store, &Workshop::default(), code(), options).await;
    run(&node, "e0", "Echo", "x").await;
    within(async {
        loop {
            let status = node.client.get_orchestration_status("duroxide.retention").await.unwrap();
            if let OrchestrationStatus::Running { custom_status: Some(text), .. } = status
                && text.contains("the shelf is closed")
            {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(exists(&node.client, "e0").await, "nothing is deleted while the archive refuses");
    shelf.closed.store(false, Ordering::SeqCst);
    gone(&node.client, 1).await;
    assert_eq!(shelf.ids().len(), 1);
    node.stop().await;
}

/// Waits until `e0` and those after it are deleted.
async fn gone(client: &Client, count: usize) {
    within(async {
        for number in 0..count {
            let id = format!("e{number}");
            // It may not have started yet.
            while exists(client, &id).await
                || client.explain_unstarted(&id).await.unwrap().is_some()
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    })
    .await;
}

/// Twice as many instances, one half after the other, need little more space than one half.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn freed_space_is_used_again_on_sqlite() {
    use duroxide::providers::sqlite::SqliteProvider;
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("kept.db").display());
    let provider = Arc::new(SqliteProvider::new(&url, None).await.unwrap());
    let store: Store = provider.clone();
    let node = Node::start(&store, &Workshop::default(), code()).await;
    let policy = RetentionPolicy::new([RetentionRule::all().keep_for(NOTHING_KEPT)]);
    let mut sizes = Vec::new();
    for half in ["a", "b"] {
        for number in 0..300 {
            let input = "x".repeat(4_000);
            node.start_instance(&format!("{half}{number}"), "Echo", &input).await;
        }
        for number in 0..300 {
            let id = format!("{half}{number}");
            node.client.wait_for_orchestration(&id, TIMEOUT).await.unwrap();
        }
        sizes.push(provider.describe().await.unwrap().size_bytes);
        later(&node, &format!("{half}299")).await;
        let report = applied(&node.client, &policy).await;
        assert_eq!((report.instances_deleted, report.is_complete), (300, true), "{report:?}");
    }
    let description = provider.describe().await.unwrap();
    let [first, second] = sizes[..] else { panic!("two halves") };
    assert!(second < first + first / 3, "{first} bytes, then {second}");
    let free = description.free_bytes.unwrap();
    assert!(free > second / 2, "most of {second} bytes is free again: {free}");
    node.stop().await;
}
