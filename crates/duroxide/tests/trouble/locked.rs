//! Another connection holds the file.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::sqlite::SqliteProvider;

use crate::logs;
use crate::stand::{Place, Stand, options, text, until};

const WORKFLOWS: usize = 20;

#[tokio::test]
async fn a_file_locked_by_others_for_a_while_loses_nothing() {
    let place = Place::new();
    // Less than the lock lasts: calls fail instead of waiting for it.
    let store = SqliteProvider::builder(text(&place.file()))
        .busy_timeout(Duration::from_millis(50))
        .open()
        .await
        .unwrap();
    let patient = duroxide::RuntimeOptions { max_attempts: 100, ..options() };
    let stand = Stand::with(Arc::new(store), patient).await;
    for number in 0..WORKFLOWS {
        stand.client.start_orchestration(format!("held-{number}"), "Wait", "").await.unwrap();
        stand.started(&format!("held-{number}")).await;
        stand.client.raise_event(format!("held-{number}"), "go", "on").await.unwrap();
    }
    let other = place.beside();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let refused = stand.client.start_orchestration("late", "One", "x").await.unwrap_err();
    assert!(refused.to_string().contains("Database locked"), "{refused}");
    assert!(refused.is_retryable());
    // Readers are not held up.
    stand.client.get_orchestration_status("held-0").await.unwrap();
    until("the node meets the lock", || {
        logs::hold(&["Database locked", "storage operation failed; retrying"])
    })
    .await;
    other.execute_batch("ROLLBACK").unwrap();

    for number in 0..WORKFLOWS {
        assert_eq!(stand.output(&format!("held-{number}")).await, "on");
    }
    stand.assert_goes_on("after-lock").await;
    stand.stop().await;
}

#[tokio::test]
async fn opening_a_file_that_stays_locked_says_what_to_do() {
    let place = Place::new();
    drop(place.open().await);
    let other = place.beside();
    other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    // Without the schema being current already, opening has to write.
    let new = place.folder.path().join("new.db");
    let holder = rusqlite::Connection::open(&new).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE; CREATE TABLE t (x)").unwrap();
    let opened =
        SqliteProvider::builder(text(&new)).busy_timeout(Duration::from_millis(50)).open().await;
    let refused = opened.unwrap_err().to_string();
    assert!(refused.contains("locked by another process: let it finish"), "{refused}");
}
