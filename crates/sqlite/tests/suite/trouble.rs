//! Files that cannot be used, or stop being usable.

use std::error::Error as _;
use std::fs;
use std::time::Duration;

use duroxide_core::providers::{Provider, ProviderAdmin, ProviderError};
use duroxide_sqlite::{SqliteError, SqliteProvider};

use crate::support::*;

async fn open_error(url: &str) -> SqliteError {
    SqliteProvider::new(url, None).await.expect_err("it cannot be opened")
}

#[tokio::test]
async fn a_missing_file_is_created_unless_the_mode_forbids_it() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(&folder);
    for mode in ["ro", "rw"] {
        let error = open_error(&format!("{url}?mode={mode}")).await;
        assert!(error.to_string().contains("mode=rwc"), "{error}");
    }
    SqliteProvider::new(&url, None).await.unwrap();
    SqliteProvider::new(&format!("{url}?mode=rw"), None).await.unwrap();
}

#[tokio::test]
async fn a_missing_folder_and_a_folder_as_file_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no").join("store.db");
    let error = open_error(missing.to_str().unwrap()).await;
    assert!(matches!(error, SqliteError::CannotOpen { .. }));
    assert!(error.to_string().contains("create it first"), "{error}");
    let error = open_error(folder.path().to_str().unwrap()).await;
    assert!(error.to_string().contains("name a file in it"), "{error}");
    // Whether it exists cannot be known, so that no advice is given to create it.
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = open_error(&format!("{}?mode=ro", file.join("store.db").display())).await;
    assert!(error.to_string().contains("cannot be reached"), "{error}");
}

#[tokio::test]
async fn a_read_only_database_can_be_read_and_says_so_when_written() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    let reader = SqliteProvider::new(&format!("{}?mode=ro", store.url()), None).await.unwrap();
    assert_eq!(reader.read("a").await.unwrap().len(), 1);
    assert_eq!(reader.list_instances().await.unwrap(), ["a"]);
    let error = reader.enqueue_for_orchestrator(start("b"), None).await.unwrap_err();
    assert!(error.message.contains("read-only"), "{error}");
    assert!(error.is_retryable(), "an administrator may make it writable again");
}

#[tokio::test]
async fn garbage_is_not_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    fs::write(&path, "this is a letter, not a database\n".repeat(400)).unwrap();
    let error = open_error(path.to_str().unwrap()).await;
    assert!(matches!(error, SqliteError::NotADatabase { .. }), "{error:?}");
    assert!(error.source().is_some());
}

#[tokio::test]
async fn a_truncated_file_is_damaged_and_does_not_panic() {
    let store = Store::new().await;
    for number in 0..200 {
        let instance = format!("i-{number}");
        store.provider.enqueue_for_orchestrator(start(&instance), None).await.unwrap();
    }
    store.provider.checkpoint().await.unwrap();
    let bytes = fs::read(store.folder.path().join("store.db")).unwrap();
    let half = store.folder.path().join("half.db");
    fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    // The damage shows when the file is opened or when the lost pages are used.
    match SqliteProvider::new(half.to_str().unwrap(), None).await {
        Err(error) => assert!(matches!(error, SqliteError::Corrupt { .. }), "{error:?}"),
        Ok(provider) => {
            let mut failures = Vec::new();
            for instance in 0..50 {
                let item = start(&format!("n-{instance}"));
                failures.extend(provider.enqueue_for_orchestrator(item, None).await.err());
                failures.extend(provider.fetch_orchestration_items(wish(1)).await.err());
                failures.extend(provider.list_instances().await.err());
            }
            let is_damage = |error: &ProviderError| error.message.contains("damaged");
            assert!(failures.iter().any(is_damage), "{failures:?}");
        }
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_advice() {
    let store = Store::new().await;
    store
        .sql()
        .execute("INSERT INTO duroxide_migrations (version, name) VALUES (99, 'later')", [])
        .unwrap();
    let error = open_error(&store.url()).await;
    assert!(matches!(error, SqliteError::NewerSchema { found: 99, .. }), "{error:?}");
    assert!(error.to_string().contains("upgrade this program"));
}

#[tokio::test]
async fn a_full_disk_is_retryable_and_writes_succeed_once_there_is_space() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(&folder);
    let provider = SqliteProvider::builder(&url).with_pages_max(60).open().await.unwrap();
    let large = |number: usize| signal(&format!("i-{number}"), &"x".repeat(20_000));
    let mut stored = 0;
    let error = loop {
        match provider.enqueue_for_orchestrator(large(stored), None).await {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(stored > 0);
    assert!(error.is_retryable());
    assert!(error.message.contains("Disk full"), "{error}");
    // Several at once: every job of the shared transaction gets a response.
    let (one, two) = tokio::join!(
        provider.enqueue_for_orchestrator(large(1), None),
        provider.enqueue_for_orchestrator(large(2), None)
    );
    for error in [one.unwrap_err(), two.unwrap_err()] {
        assert!(error.is_retryable());
        assert!(error.message.contains("Disk full"), "every job gets the reason: {error}");
    }
    assert_eq!(provider.get_queue_depths().await.unwrap().orchestrator_queue, stored);
    drop(provider);
    let roomy = SqliteProvider::new(&url, None).await.unwrap();
    roomy.enqueue_for_orchestrator(large(stored), None).await.unwrap();
}

#[tokio::test]
async fn a_locked_database_is_retryable_and_works_when_it_is_free_again() {
    let store = Store::new().await;
    let hasty = SqliteProvider::builder(&store.url())
        .with_busy_timeout(Duration::from_millis(20))
        .open()
        .await
        .unwrap();
    let other = store.sql();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = hasty.enqueue_for_orchestrator(start("a"), None).await.unwrap_err();
    assert!(error.is_retryable());
    assert!(error.message.starts_with("Database locked: "), "{error}");
    assert!(hasty.fetch_orchestration_items(wish(1)).await.unwrap_err().is_retryable());
    other.execute_batch("ROLLBACK").unwrap();
    hasty.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    assert_eq!(turn(&hasty).await.item.instance, "a");
}

#[tokio::test]
async fn strange_ids_and_payloads_come_back_as_they_were() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for id in ["", "a'b\"c;--", "ключ 鍵", "a\nb", &"long".repeat(500)] {
        create(provider, id).await;
        assert_eq!(provider.read(id).await.unwrap()[0].instance_id, id);
    }
}
