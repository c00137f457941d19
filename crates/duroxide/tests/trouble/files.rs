//! Files that cannot hold a store.

use std::fs;
use std::sync::Arc;

use duroxide::Client;
use duroxide::providers::sqlite::SqliteProvider;

use crate::logs;
use crate::test_node::{TempStore, TestNode, eventually, text};
#[cfg(unix)]
use crate::unprivileged;

async fn refusal(path: &str) -> String {
    SqliteProvider::new(path, None).await.unwrap_err().to_string()
}

#[tokio::test]
async fn paths_that_cannot_hold_a_store_are_refused_with_advice() {
    let files = TempStore::new();
    let folder = text(files.folder.path()).to_owned();
    let garbage = files.folder.path().join("garbage.db");
    fs::write(
        &garbage,
        "this file is not a database, and neither is its second page\n".repeat(200),
    )
    .unwrap();
    for (path, advice) in [
        (folder.clone(), "it is a folder; name a file in it"),
        (format!("{folder}/missing/store.db"), "does not exist; create it first"),
        (format!("{folder}/missing.db?mode=rw"), "use ?mode=rwc to create it"),
        (format!("{folder}/missing.db?mode=ro"), "use ?mode=rwc to create it"),
        (text(&garbage).to_owned(), "is not a SQLite database: check the path"),
        ("postgres://host/db".to_owned(), "scheme 'postgres' is not 'sqlite'"),
        (format!("{folder}/store.db?mode=fast"), "none of ro, rw, rwc, memory"),
    ] {
        let refused = refusal(&path).await;
        assert!(refused.contains(advice), "{path}: {refused}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_or_folder_without_write_permission_is_refused_with_advice() {
    use std::os::unix::fs::PermissionsExt;
    if unprivileged::is_root() {
        let this = "files::a_file_or_folder_without_write_permission_is_refused_with_advice";
        return unprivileged::run(this);
    }
    let files = TempStore::new();
    drop(files.open().await);
    let (file, folder) = (files.file(), files.folder.path());
    // The provider closes the file soon after the drop; until then its log exists.
    let log = folder.join(format!("{}-wal", file.file_name().unwrap().to_str().unwrap()));
    eventually("the file is closed", || !log.exists()).await;
    for (path, mode, usual) in [(file.as_path(), 0o444, 0o644), (folder, 0o555, 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let opened = SqliteProvider::new(text(&file), None).await;
        fs::set_permissions(path, fs::Permissions::from_mode(usual)).unwrap();
        let refused = opened.unwrap_err().to_string();
        assert!(refused.contains("write permission"), "{refused}");
    }
}

#[tokio::test]
async fn a_store_opened_read_only_can_be_read_and_the_node_survives() {
    let files = TempStore::new();
    let node = TestNode::on(files.open().await).await;
    node.assert_works("written-before").await;
    node.stop().await;
    let writable = Client::new(files.open().await);
    writable.start_orchestration("pending", "One", "later").await.unwrap();

    let url = format!("{}?mode=ro", text(&files.file()));
    let read_only = TestNode::on(Arc::new(SqliteProvider::new(&url, None).await.unwrap())).await;
    assert_eq!(read_only.output("written-before").await, "fine");
    let refused = read_only.client.start_orchestration("x", "One", "").await.unwrap_err();
    assert!(refused.to_string().contains("read-only"), "{refused}");
    assert!(refused.is_retryable());
    eventually("the log names the reason of the failed fetch", || {
        logs::contain(&["fetch failed", "read-only"])
    })
    .await;
    read_only.stop().await;

    let node = TestNode::on(files.open().await).await;
    assert_eq!(node.output("pending").await, "later");
    node.stop().await;
}

#[tokio::test]
async fn a_truncated_file_is_reported_as_damaged_and_an_empty_one_is_initialised() {
    let files = TempStore::new();
    let store = files.open().await;
    let node = TestNode::on(store.clone()).await;
    for number in 0..20 {
        node.assert_works(&format!("order-{number}")).await;
    }
    node.stop().await;
    store.checkpoint().await.unwrap();
    drop(store);
    let whole = fs::read(files.file()).unwrap();
    for kept in [whole.len() / 2, 4096, 1000, 50, 0] {
        let path = files.folder.path().join(format!("kept-{kept}.db"));
        fs::write(&path, &whole[..kept]).unwrap();
        match SqliteProvider::new(text(&path), None).await {
            Err(refused) => assert_advice(&refused.to_string(), kept),
            Ok(store) if kept == 0 => {
                let node = TestNode::on(Arc::new(store)).await;
                node.assert_works("empty-file").await;
                node.stop().await;
            }
            // Opening did not read the damaged pages: the calls that read them fail.
            Ok(store) => {
                let node = TestNode::on(Arc::new(store)).await;
                let started = node.client.start_orchestration("x", "One", "").await;
                let read = node.client.get_system_metrics().await.map(drop);
                let error = started.and(read).unwrap_err().to_string();
                node.stop().await;
                assert_advice(&error, kept);
            }
        }
    }
}

fn assert_advice(error: &str, kept: usize) {
    let has_advice = error.contains("restore it from a backup") || error.contains("check the path");
    assert!(has_advice, "{kept} bytes kept: {error}");
}
