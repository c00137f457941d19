//! A database that is restored from a dump.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::Client;
use duroxide_core::context::OrchestrationContext;
use duroxide_core::providers::{Provider, TagFilter, WorkItem};
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime,
};
use duroxide_pg::PostgresProvider;

use crate::support::*;

const SHORT: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(3600);

/// A dump of the schema of a store.
struct Dump {
    url: String,
    folder: tempfile::TempDir,
}

impl Dump {
    fn of(store: &Store) -> Self {
        let dump = Self { url: store.url.clone(), folder: tempfile::tempdir().unwrap() };
        dump.run("pg_dump", &["-Fc", "-n", &store.schema, "-f"]);
        dump
    }

    /// Restores the schema in one transaction.
    fn restore(&self) {
        self.run("pg_restore", &["--clean", "--if-exists", "--single-transaction"]);
    }

    fn run(&self, program: &str, args: &[&str]) {
        let programs = duroxide_pg_server::install().unwrap();
        let output = Command::new(programs.join(program))
            .arg(format!("--dbname={}", self.url))
            .args(args)
            .arg(self.file())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("dump")
    }
}

async fn work(node: &PostgresProvider, lease: Duration) -> Option<(WorkItem, String, u32)> {
    node.fetch_work_item(lease, NOW, None, &TagFilter::Any).await.unwrap()
}

#[tokio::test]
async fn leases_and_timers_keep_their_times() {
    let store = Store::live();
    let before = store.node().await;
    for instance in ["turn", "timer", "later"] {
        create(&*before, instance).await;
    }
    // The long one first: a short one may expire before the next fetch.
    before.enqueue_for_worker(activity("turn", 2)).await.unwrap();
    let long = work(&before, LONG).await.unwrap();
    before.enqueue_for_worker(activity("turn", 1)).await.unwrap();
    let short = work(&before, SHORT).await.unwrap();
    before.enqueue_for_orchestrator(signal("turn", "1"), None).await.unwrap();
    let held = before.fetch_orchestration_item(SHORT, NOW, None).await.unwrap().unwrap();
    before.enqueue_for_orchestrator(signal("timer", "due"), Some(SHORT)).await.unwrap();
    before.enqueue_for_orchestrator(signal("later", "not due"), Some(LONG)).await.unwrap();
    let dump = Dump::of(&store);
    // What happens after the dump is undone.
    before.ack_work_item(&long.1, None).await.unwrap();
    drop(before);
    // Not a wait for luck: by the clock of the server, this is when the short times are over.
    tokio::time::sleep(SHORT).await;
    dump.restore();

    let after = store.node().await;
    let mut turns = after.fetch_orchestration_items(wish(10)).await.unwrap();
    turns.sort_by(|one, other| one.item.instance.cmp(&other.item.instance));
    let turns: Vec<(&str, u32)> =
        turns.iter().map(|turn| (turn.item.instance.as_str(), turn.attempt_count)).collect();
    assert_eq!(turns, [("timer", 1), ("turn", 2)], "what is due, and what lost its lease");
    let again = work(&after, LEASE).await.expect("its lease has run out");
    assert_eq!((again.0, again.2), (activity("turn", 1), 2));
    assert!(work(&after, LEASE).await.is_none(), "the other one is still held");
    // Tokens from before the restore: the expired ones hold no lease.
    assert!(after.ack_work_item(&short.1, None).await.is_err());
    let late =
        after.ack_orchestration_item(&held.1, 1, vec![], vec![], vec![], named(), vec![]).await;
    assert!(late.is_err());
    after.ack_work_item(&long.1, None).await.unwrap();
}

fn orchestrations() -> OrchestrationRegistry {
    let steps = |ctx: OrchestrationContext, _: String| async move {
        let mut all = Vec::new();
        for _step in 0..3 {
            all.push(ctx.schedule_wait("Go").await);
        }
        Ok(all.join(" "))
    };
    OrchestrationRegistry::builder().register("Steps", steps).build()
}

/// One node on the store, with code.
struct Node {
    provider: Arc<dyn Provider>,
    client: Client,
    runtime: Arc<Runtime>,
}

impl Node {
    async fn start(store: &Store) -> Self {
        let provider: Arc<dyn Provider> = store.node().await;
        let activities = ActivityRegistry::builder().build();
        let runtime =
            Runtime::start_with_store(Arc::clone(&provider), activities, orchestrations()).await;
        Self { client: Client::new(Arc::clone(&provider)), provider, runtime }
    }

    /// Sends the next message and waits for the turn that it causes.
    async fn go(&self, data: &str, events: usize) {
        self.client.raise_event("a", "Go", data).await.unwrap();
        self.until_events(events).await;
    }

    async fn until_events(&self, wanted: usize) {
        let there = async {
            while self.provider.read("a").await.unwrap().len() < wanted {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, there).await.expect("the turn is committed");
    }

    async fn stop(self) {
        self.runtime.shutdown(None).await;
    }
}

/// The worst case: the stored history has as many events as the one that the node holds, and
/// others, because another node went on from the backup. The node took its own for the stored one.
#[tokio::test]
async fn a_node_drops_an_execution_that_a_restore_has_undone() {
    let store = Store::live();
    let first = Node::start(&store).await;
    first.client.start_orchestration("a", "Steps", "").await.unwrap();
    // Started and subscribed, then received and subscribed again.
    first.until_events(2).await;
    first.go("one", 4).await;
    first.stop().await;
    let before = Dump::of(&store);
    let other = Node::start(&store).await;
    other.go("other", 6).await;
    other.stop().await;
    let branch = Dump::of(&store);

    before.restore();
    let live = Node::start(&store).await;
    live.go("two", 6).await;
    branch.restore();
    live.client.raise_event("a", "Go", "three").await.unwrap();
    let ended = live.client.wait_for_orchestration("a", PATIENCE).await.unwrap();
    let OrchestrationStatus::Completed { output, .. } = ended else { panic!("{ended:?}") };
    assert_eq!(output, "one other three");
    live.stop().await;
}
