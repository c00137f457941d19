//! A database that is set back to a backup in place, while a process has it open.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::Client;
use duroxide_core::context::OrchestrationContext;
use duroxide_core::providers::Provider;
use duroxide_core::runtime::{
    ActivityRegistry, OrchestrationRegistry, OrchestrationStatus, Runtime,
};

use crate::support::*;

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

/// One node on the store.
struct Node {
    provider: Arc<dyn Provider>,
    client: Client,
    runtime: Arc<Runtime>,
}

impl Node {
    async fn start(store: &Store) -> Self {
        let provider: Arc<dyn Provider> = store.another().await;
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
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(PATIENCE, there).await.expect("the turn is committed");
    }

    async fn stop(self) {
        self.runtime.shutdown(None).await;
    }
}

async fn back_up(store: &Store, name: &str) -> PathBuf {
    let target = store.folder.path().join(name);
    store.provider.backup(&target).await.unwrap();
    target
}

/// Replaces the content of the database, in one transaction.
fn restore(store: &Store, backup: &Path) {
    let conn = store.sql();
    conn.execute("ATTACH ?1 AS saved", [backup.display().to_string()]).unwrap();
    let tables: Vec<String> = conn
        .prepare("SELECT name FROM saved.sqlite_master WHERE type = 'table'")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    let copy = |table: &String| {
        format!("DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM saved.{table};")
    };
    let copies: String = tables.iter().map(copy).collect();
    conn.execute_batch(&format!("PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE; {copies} COMMIT"))
        .unwrap();
}

/// A node keeps an execution in memory. The stored history has as many events as that one has, and
/// others, because another node went on from the backup. The node took its own for the stored one.
#[tokio::test]
async fn a_node_drops_an_execution_that_a_restore_has_undone() {
    let store = Store::new().await;
    let first = Node::start(&store).await;
    first.client.start_orchestration("a", "Steps", "").await.unwrap();
    // Started and subscribed, then received and subscribed again.
    first.until_events(2).await;
    first.go("one", 4).await;
    first.stop().await;
    let before = back_up(&store, "before.db").await;
    let other = Node::start(&store).await;
    other.go("other", 6).await;
    other.stop().await;
    let branch = back_up(&store, "branch.db").await;

    restore(&store, &before);
    let live = Node::start(&store).await;
    live.go("two", 6).await;
    restore(&store, &branch);
    live.client.raise_event("a", "Go", "three").await.unwrap();
    let ended = live.client.wait_for_orchestration("a", PATIENCE).await.unwrap();
    let OrchestrationStatus::Completed { output, .. } = ended else { panic!("{ended:?}") };
    assert_eq!(output, "one other three");
    live.stop().await;
}
