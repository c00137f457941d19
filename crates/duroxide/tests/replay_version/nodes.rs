//! Nodes "1.5" and "2.0" on one store: processes that act as these versions.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use duroxide::check::{Checker, Verdict};
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::providers::{Provider, ProviderAdmin};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationStatus, Runtime, test_hooks};
use duroxide::{Client, EventKind};

use crate::kinds::{WAIT_MAX, orchestrations, until_status};

/// Version, store and step of a process.
const NODE: &str = "DUROXIDE_REPLAY_VERSION_NODE";

/// Not a test but the entry point of a node: without its variable it does nothing.
#[tokio::test]
async fn run_as_node() {
    let Ok(node) = std::env::var(NODE) else { return };
    let parts: Vec<&str> = node.lines().collect();
    let [version, path, step] = parts[..] else { panic!("{node}") };
    test_hooks::act_as_version(version);
    assert_eq!(duroxide::current_build_version().to_string(), version);
    let store: Arc<dyn Provider> = Arc::new(SqliteProvider::new(path, None).await.unwrap());
    let none = ActivityRegistry::builder().build();
    let runtime = Runtime::start_with_store(Arc::clone(&store), none, orchestrations()).await;
    let client = Client::new(Arc::clone(&store));
    match step {
        "start" => {
            start(&client, &format!("old-{version}"), "Plain").await;
            if version == "2.0.0" {
                start(&client, "new-2.0.0", "Topics").await;
            }
        }
        "skip the newer ones" => skip_newer(&client, &store).await,
        "complete" => {
            until_status(&client, "new-2.0.0", "waiting for plums").await;
            client.raise_event2("new-2.0.0", "price", "plums", "4").await.unwrap();
            finished(&client, "new-2.0.0", "3 4").await;
            client.raise_event("old-2.0.0", "go", "on").await.unwrap();
            finished(&client, "old-2.0.0", "on").await;
        }
        _ => panic!("{step}"),
    }
    runtime.shutdown(None).await;
}

/// A node "1.5" runs what it can replay, and is not handed the rest.
async fn skip_newer(client: &Client, store: &Arc<dyn Provider>) {
    client.raise_event2("new-2.0.0", "price", "pears", "3").await.unwrap();
    client.raise_event("old-1.5.0", "go", "on").await.unwrap();
    finished(client, "old-1.5.0", "on").await;
    let report = Checker::new(orchestrations()).check_store(store.as_ref()).await.unwrap();
    for problem in &report.problems {
        let unsupported = matches!(problem.verdict, Verdict::VersionUnsupported { .. });
        assert!(unsupported && problem.pin == "2.0.0", "{problem}");
    }
    assert_eq!(report.problems.len(), 2, "{report}");
    assert!(!report.breaks_executions(), "{report}");
    let undecodable = store.read("new-2.0.0").await.unwrap_err();
    assert!(undecodable.to_string().contains("1.5.0"), "{undecodable}");
}

async fn start(client: &Client, instance: &str, orchestration: &str) {
    client.start_orchestration(instance, orchestration, "").await.unwrap();
    until_status(client, instance, "waiting").await;
}

async fn finished(client: &Client, instance: &str, expected: &str) {
    match client.wait_for_orchestration(instance, WAIT_MAX).await.unwrap() {
        OrchestrationStatus::Completed { output, .. } => assert_eq!(output, expected),
        other => panic!("{instance}: {other:?}"),
    }
}

fn node(version: &str, store: &Path, step: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "nodes::run_as_node", "--nocapture"])
        .env(NODE, format!("{version}\n{}\n{step}", store.display()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "node {version}, {step}:\n{text}");
}

#[tokio::test]
async fn a_node_of_an_older_version_leaves_newer_executions_to_newer_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nodes.db");
    node("1.5.0", &path, "start");
    node("2.0.0", &path, "start");
    node("1.5.0", &path, "skip the newer ones");
    node("2.0.0", &path, "complete");

    let store = SqliteProvider::new(path.to_str().unwrap(), None).await.unwrap();
    let spread = store.get_running_duroxide_version_spread().await.unwrap();
    assert!(spread.is_empty(), "{spread:?}");
    let history = store.read("new-2.0.0").await.unwrap();
    assert!(history.iter().all(|event| event.duroxide_version == "2.0.0"));
    let is_new = |kind: &EventKind| matches!(kind, EventKind::ExternalEvent2 { .. });
    assert_eq!(history.iter().filter(|event| is_new(&event.kind)).count(), 2);
}
