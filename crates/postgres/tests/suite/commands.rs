//! Providers of commands: they open what exists, may only read, and leave the upkeep to nodes.

use std::time::Duration;

use duroxide_core::providers::{ChangeScope, Provider, ProviderAdmin, TurnFetch};
use duroxide_pg::{Migrations, PostgresProvider, PostgresProviderBuilder};
use tokio::time::timeout;
use uuid::Uuid;

use crate::support::*;

fn command(store: &Store) -> PostgresProviderBuilder {
    store.builder().with_migrations(Migrations::Verify).with_upkeep(false)
}

#[tokio::test]
async fn a_provider_that_only_reads_refuses_changes() {
    let store = Store::live();
    let node = store.node().await;
    create(&*node, "a").await;
    let reader = command(&store).with_read_only(true).open().await.unwrap();
    assert_eq!(reader.list_instances().await.unwrap(), ["a"]);
    let error = reader.enqueue_for_orchestrator(start("b"), None).await.unwrap_err();
    assert!(error.message.contains("read-only"), "{error}");
    assert!(reader.delete_instance("a", true).await.is_err());
    assert_eq!(node.list_instances().await.unwrap(), ["a"]);
    // It would have to migrate, and does not.
    let empty = Store::live();
    let error = empty.builder().with_read_only(true).open().await.unwrap_err();
    assert!(error.to_string().contains("at version 0"), "{error}");
}

/// A provider that closes its connections before its notification is sent leaves the message to
/// the safety poll of the nodes, seconds later.
#[tokio::test]
async fn nodes_are_notified_of_what_a_command_did_before_it_closed() {
    let store = Store::live();
    let hour = Duration::from_secs(3600);
    let node = store.builder().with_safety_poll_interval(hour).open().await.unwrap();
    let fetch = node.fetch_orchestration_items(TurnFetch::new(1, LEASE).with_poll_timeout(hour));
    let send = async {
        let client = command(&store).open().await.unwrap();
        client.enqueue_for_orchestrator(start("b"), None).await.unwrap();
        client.close().await;
    };
    let (fetched, ()) = tokio::join!(timeout(PATIENCE, fetch), send);
    assert_eq!(fetched.expect("the node was notified").unwrap().len(), 1);
}

#[tokio::test]
async fn a_provider_without_upkeep_listens_once_a_caller_waits() {
    let store = Store::live();
    store.node().await.close().await;
    let name = Uuid::new_v4().simple().to_string();
    let url = format!("{}?application_name={name}", store.url);
    let client = PostgresProvider::builder(&url)
        .with_schema(&store.schema)
        .with_migrations(Migrations::Verify)
        .with_upkeep(false)
        .open()
        .await
        .unwrap();
    client.list_instances().await.unwrap();
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}'");
    assert_eq!(store.count(&sql).await, 1);
    let _watch = client.watch(ChangeScope::Instance("a")).unwrap();
    let listening = async {
        let sql = format!("{sql} AND query LIKE 'LISTEN%'");
        while store.count(&sql).await == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, listening).await.unwrap();
}

#[tokio::test]
async fn a_store_describes_itself() {
    let store = Store::live();
    let node = store.node().await;
    let description = node.describe().await.unwrap();
    assert_eq!(description.kind, "postgres");
    assert_eq!(description.schema.as_deref(), Some(store.schema.as_str()));
    assert_eq!(description.schema_version, description.schema_version_known);
    assert!(description.size_bytes > 4096, "{description:?}");
    assert!(!description.location.contains('@'), "{description:?}");
}
