//! Providers of commands: they open what exists, may only read, and leave the upkeep to nodes.

use std::fs;
use std::path::Path;

use duroxide_core::providers::{Provider, ProviderAdmin};
use duroxide_sqlite::{Migrations, SqliteError, SqliteProvider, SqliteProviderBuilder};

use crate::support::*;

fn command(url: &str) -> SqliteProviderBuilder {
    SqliteProvider::builder(url).with_migrations(Migrations::Verify).with_upkeep(false)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_provider_that_only_verifies_creates_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let error = command(&url(&folder)).open().await.unwrap_err();
    assert!(matches!(error, SqliteError::CannotOpen { .. }), "{error}");
    assert!(names(folder.path()).is_empty());
    // A file of another program, in its own journal mode.
    let path = folder.path().join("store.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
    let before = fs::read(&path).unwrap();
    for builder in [command(&url(&folder)), command(&url(&folder)).with_read_only(true)] {
        let error = builder.open().await.unwrap_err();
        assert!(matches!(error, SqliteError::OlderSchema { found: 0, .. }), "{error}");
        assert!(error.to_string().contains("duroxide store migrate"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(names(folder.path()), ["store.db"]);
    }
}

#[tokio::test]
async fn a_provider_that_only_reads_refuses_changes() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    let reader = command(&store.url()).with_read_only(true).open().await.unwrap();
    assert_eq!(reader.list_instances().await.unwrap(), ["a"]);
    let error = reader.enqueue_for_orchestrator(start("b"), None).await.unwrap_err();
    assert!(error.message.contains("readonly") || error.message.contains("read-only"), "{error}");
    assert!(reader.delete_instance("a", true).await.is_err());
    assert_eq!(store.provider.list_instances().await.unwrap(), ["a"]);
}

#[tokio::test]
async fn a_provider_without_upkeep_leaves_no_trace() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    let before = names(store.folder.path());
    let client = command(&store.url()).open().await.unwrap();
    client.enqueue_for_orchestrator(start("b"), None).await.unwrap();
    assert_eq!(names(store.folder.path()), before, "it shows itself to no other process");
    client.close().await.unwrap();
    store.provider.close().await.unwrap();
    // The last connection that is closed removes the log.
    let client = command(&store.url()).open().await.unwrap();
    client.close().await.unwrap();
    assert_eq!(names(store.folder.path()), ["store.db"]);
    assert_eq!(store.count("SELECT count(*) FROM orchestrator_queue WHERE instance_id = 'b'"), 1);
}

#[tokio::test]
async fn a_store_describes_itself() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    let description = store.provider.describe().await.unwrap();
    assert_eq!(description.kind, "sqlite");
    assert!(description.location.ends_with("store.db"), "{description:?}");
    assert_eq!(description.schema_version, description.schema_version_known);
    assert!(description.size_bytes > 4096, "{description:?}");
    assert!(description.free_bytes < Some(description.size_bytes), "{description:?}");
}

#[tokio::test]
async fn a_vacuum_makes_the_file_as_small_as_its_content() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    let sql = store.sql();
    sql.execute_batch(
        "CREATE TABLE big (text); INSERT INTO big SELECT zeroblob(4000000); DROP TABLE big;",
    )
    .unwrap();
    drop(sql);
    let before = store.provider.describe().await.unwrap();
    assert!(before.free_bytes > Some(3_900_000), "{before:?}");
    store.provider.vacuum().await.unwrap();
    let after = store.provider.describe().await.unwrap();
    assert_eq!(after.free_bytes, Some(0));
    let file = fs::metadata(store.folder.path().join("store.db")).unwrap().len();
    assert_eq!(file, after.size_bytes);
    assert_eq!(store.provider.list_instances().await.unwrap(), ["a"]);
}

#[tokio::test]
async fn damage_is_found() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    assert!(store.provider.check_integrity().await.unwrap().is_empty());
    let memory = SqliteProvider::new_in_memory().await.unwrap();
    assert!(memory.check_integrity().await.unwrap().is_empty());
    // The page of an index that no provider reads when it opens the file.
    let (number, size): (u32, u32) = store
        .sql()
        .query_row(
            "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size
             WHERE name = 'idx_executions_failed'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    store.provider.close().await.unwrap();
    let path = store.folder.path().join("store.db");
    let mut bytes = fs::read(&path).unwrap();
    let page = ((number - 1) * size) as usize;
    bytes[page..page + 64].fill(0xff);
    fs::write(&path, bytes).unwrap();
    let provider = command(&store.url()).with_read_only(true).open().await.unwrap();
    assert!(!provider.check_integrity().await.unwrap().is_empty());
}
