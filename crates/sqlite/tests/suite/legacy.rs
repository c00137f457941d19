//! Files made by duroxide 0.1.x open, migrate in place and keep working.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::EventKind;
use duroxide_core::providers::{
    DispatcherCapabilityFilter, ManualClock, Provider, ProviderAdmin, SessionFetchConfig,
    TagFilter, WorkItem,
};
use duroxide_sqlite::SqliteProvider;

use crate::support::*;

const FIXTURE: &str = include_str!("../fixtures/duroxide_0_1_32.sql");

async fn migrated() -> Store {
    let folder = tempfile::tempdir().unwrap();
    let conn = rusqlite::Connection::open(folder.path().join("store.db")).unwrap();
    conn.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    conn.execute_batch(FIXTURE).unwrap();
    drop(conn);
    let clock = Arc::new(ManualClock::new(BEGIN_MS));
    let builder =
        SqliteProvider::builder(&url(&folder)).with_clock(Arc::<ManualClock>::clone(&clock));
    let provider = Arc::new(builder.open().await.unwrap());
    Store { provider, clock, folder }
}

#[tokio::test]
async fn stored_data_survives_the_migration() {
    let store = migrated().await;
    let provider = &*store.provider;
    assert_eq!(provider.list_instances().await.unwrap(), ["order::sub::4", "order"]);
    let info = provider.get_instance_info("order").await.unwrap();
    assert_eq!((info.created_at, info.updated_at), (1_699_999_990_000, 1_699_999_990_000));
    assert_eq!((info.status.as_str(), info.orchestration_version.as_str()), ("Running", "1.2.0"));
    let child = provider.get_execution_info("order::sub::4", 1).await.unwrap();
    assert_eq!(child.started_at, 1_699_999_995_000);
    assert_eq!(child.completed_at, Some(1_699_999_996_000));
    let parent = provider.get_parent_id("order::sub::4").await.unwrap();
    assert_eq!(parent.as_deref(), Some("order"));
    let status = provider.get_custom_status("order", 0).await.unwrap();
    assert_eq!(status, Some((Some("packing".to_owned()), 3)));
    let history = provider.read("order").await.unwrap();
    assert_eq!(history.len(), 6);
    assert!(history.iter().all(|event| event.duroxide_version == "0.1.32"));
    let spread = provider.get_running_duroxide_version_spread().await.unwrap();
    assert_eq!(spread.into_iter().collect::<Vec<_>>(), [("0.1.32".to_owned(), 1)]);
    assert_eq!(provider.get_kv_value("order", "step").await.unwrap().as_deref(), Some("2"));
    assert_eq!(provider.get_kv_value("order", "gone").await.unwrap(), None);
    assert_eq!(provider.get_kv_value("order", "kept").await.unwrap().as_deref(), Some("k"));
}

#[tokio::test]
async fn a_running_instance_completes_after_the_migration() {
    let store = migrated().await;
    let provider = &*store.provider;
    let filter = DispatcherCapabilityFilter::default_for_current_build();
    let fetched = provider.fetch_orchestration_item(LEASE, NOW, Some(&filter)).await.unwrap();
    let (item, token, attempt) = fetched.expect("the released completion is fetchable");
    assert_eq!((item.instance.as_str(), attempt), ("order", 3));
    assert_eq!(item.messages.len(), 1, "the timer is not due yet");
    assert_eq!(item.kv_snapshot.len(), 3);
    assert_eq!(item.history.len(), 6);
    let answer = provider.store_turn(commit(&token, vec![heard("order", 7)])).await.unwrap();
    assert!(answer.incarnation.is_some());

    let (work, work_token, attempt) = provider
        .fetch_work_item(LEASE, NOW, None, &TagFilter::DefaultOnly)
        .await
        .unwrap()
        .expect("the lease of the dead process has run out");
    assert_eq!(attempt, 2);
    assert!(matches!(work, WorkItem::ActivityExecute { id: 2, .. }));
    let done = completed("order", 2);
    provider.ack_work_item(&work_token, Some(done.clone())).await.unwrap();

    store.clock.advance(Duration::from_secs(60));
    let last = turn(provider).await;
    assert_eq!(last.item.messages, vec![timer("order", 3, 1_700_000_060_000), done]);
    let output = "shipped".to_owned();
    let end = commit(
        &last.lock_token,
        vec![event("order", 1, 8, EventKind::OrchestrationCompleted { output })],
    )
    .with_metadata(ended("Completed"));
    provider.store_turn(end).await.unwrap();
    assert_eq!(provider.get_instance_info("order").await.unwrap().status, "Completed");
    assert_eq!(provider.get_kv_value("order", "step").await.unwrap().as_deref(), Some("2"));
    assert_eq!(provider.delete_instance("order", false).await.unwrap().instances_deleted, 2);
}

#[tokio::test]
async fn sessions_and_messages_of_unknown_instances_are_migrated() {
    let store = migrated().await;
    let provider = &*store.provider;
    let owner = |id: &str| SessionFetchConfig { owner_id: id.to_owned(), lock_timeout: LEASE };
    let gpu = TagFilter::tags(["gpu"]);
    let other = owner("work-node-2");
    let fetched = provider.fetch_work_item(LEASE, NOW, Some(&other), &gpu).await.unwrap();
    assert!(fetched.is_none(), "the session is leased to node 1");
    let mine = owner("work-node-1");
    let fetched = provider.fetch_work_item(LEASE, NOW, Some(&mine), &gpu).await.unwrap();
    assert!(fetched.is_some());
    turn(provider).await;
    assert!(try_turn(provider).await.is_none());
    assert_eq!(
        store.count("SELECT count(*) FROM orchestrator_queue WHERE instance_id = 'ghost'"),
        0
    );
    assert!(provider.list_parked_messages(9).await.unwrap().is_empty(), "no signal waits");
}

#[tokio::test]
async fn a_file_of_a_newer_predecessor_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let conn = rusqlite::Connection::open(folder.path().join("store.db")).unwrap();
    conn.execute_batch(FIXTURE).unwrap();
    conn.execute_batch(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (20240113000000, 'later', 1, x'0d', 1)",
    )
    .unwrap();
    drop(conn);
    let error = SqliteProvider::new(&url(&folder), None).await.unwrap_err();
    assert!(error.to_string().contains("upgrade this program"), "{error}");
}
