//! Another connection locks the file.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::sqlite::SqliteProvider;

use crate::logs;
use crate::test_node::{TempStore, TestNode, eventually, text};

const WORKFLOWS: usize = 20;

#[tokio::test]
async fn a_file_that_another_connection_locks_for_a_while_loses_nothing() {
    let files = TempStore::new();
    // Shorter than the lock lasts, so that calls fail instead of waiting.
    let store = SqliteProvider::builder(text(&files.file()))
        .with_busy_timeout(Duration::from_millis(50))
        .open()
        .await
        .unwrap();
    let node = TestNode::on(Arc::new(store)).await;
    for number in 0..WORKFLOWS {
        node.client.start_orchestration(format!("held-{number}"), "Wait", "").await.unwrap();
        node.wait_until_started(&format!("held-{number}")).await;
        node.client.raise_event(format!("held-{number}"), "go", "on").await.unwrap();
    }
    let other = files.connection();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let refused = node.client.start_orchestration("late", "One", "x").await.unwrap_err();
    assert!(refused.to_string().contains("Database locked"), "{refused}");
    assert!(refused.is_retryable());
    // The lock does not block readers.
    node.client.get_orchestration_status("held-0").await.unwrap();
    eventually("the node runs into the lock", || {
        logs::contain(&["Database locked", "failed; retrying"])
    })
    .await;
    other.execute_batch("ROLLBACK").unwrap();

    for number in 0..WORKFLOWS {
        assert_eq!(node.output(&format!("held-{number}")).await, "on");
    }
    node.assert_works("after-lock").await;
    node.stop().await;
}

#[tokio::test]
async fn opening_a_file_that_stays_locked_fails_with_advice() {
    let files = TempStore::new();
    drop(files.open().await);
    let other = files.connection();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    // The new file has no schema yet, so opening it has to write.
    let new = files.folder.path().join("new.db");
    let holder = rusqlite::Connection::open(&new).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE; CREATE TABLE t (x)").unwrap();
    let opened = SqliteProvider::builder(text(&new))
        .with_busy_timeout(Duration::from_millis(50))
        .open()
        .await;
    let refused = opened.unwrap_err().to_string();
    assert!(refused.contains("locked by another process: let it finish"), "{refused}");
}
