//! Files that cannot be a store.

use std::fs;
use std::sync::Arc;

use duroxide::Client;
use duroxide::providers::sqlite::SqliteProvider;

use crate::logs;
use crate::stand::{Place, Stand, text, until};
#[cfg(unix)]
use crate::unprivileged;

async fn refusal(path: &str) -> String {
    SqliteProvider::new(path, None).await.unwrap_err().to_string()
}

#[tokio::test]
async fn places_that_cannot_hold_a_store_are_refused_with_advice() {
    let place = Place::new();
    let folder = text(place.folder.path()).to_owned();
    let garbage = place.folder.path().join("garbage.db");
    fs::write(&garbage, "this is no database, however long one looks at it\n".repeat(200)).unwrap();
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
    let place = Place::new();
    drop(place.open().await);
    let (file, folder) = (place.file(), place.folder.path());
    // The file is closed soon after the drop; until then its log is there to be written.
    let log = folder.join(format!("{}-wal", file.file_name().unwrap().to_str().unwrap()));
    until("the file is closed", || !log.exists()).await;
    for (path, mode, usual) in [(file.as_path(), 0o444, 0o644), (folder, 0o555, 0o755)] {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let opened = SqliteProvider::new(text(&file), None).await;
        fs::set_permissions(path, fs::Permissions::from_mode(usual)).unwrap();
        let refused = opened.unwrap_err().to_string();
        assert!(refused.contains("write permission"), "{refused}");
    }
}

#[tokio::test]
async fn a_store_opened_for_reading_is_read_and_the_node_survives() {
    let place = Place::new();
    let stand = Stand::on(place.open().await).await;
    stand.assert_goes_on("written-before").await;
    stand.stop().await;
    let writable = Client::new(place.open().await);
    writable.start_orchestration("pending", "One", "later").await.unwrap();

    let url = format!("{}?mode=ro", text(&place.file()));
    let read_only = Stand::on(Arc::new(SqliteProvider::new(&url, None).await.unwrap())).await;
    assert_eq!(read_only.output("written-before").await, "fine");
    let refused = read_only.client.start_orchestration("x", "One", "").await.unwrap_err();
    assert!(refused.to_string().contains("read-only"), "{refused}");
    assert!(!refused.is_retryable());
    until("the fetch says why", || logs::hold(&["fetch failed", "read-only"])).await;
    read_only.stop().await;

    let stand = Stand::on(place.open().await).await;
    assert_eq!(stand.output("pending").await, "later");
    stand.stop().await;
}

#[tokio::test]
async fn a_truncated_file_is_called_damaged_or_begins_anew_when_it_is_empty() {
    let place = Place::new();
    let store = place.open().await;
    let stand = Stand::on(store.clone()).await;
    for number in 0..20 {
        stand.assert_goes_on(&format!("order-{number}")).await;
    }
    stand.stop().await;
    store.checkpoint().await.unwrap();
    drop(store);
    let whole = fs::read(place.file()).unwrap();
    for kept in [whole.len() / 2, 4096, 1000, 50, 0] {
        let path = place.folder.path().join(format!("kept-{kept}.db"));
        fs::write(&path, &whole[..kept]).unwrap();
        match SqliteProvider::new(text(&path), None).await {
            Err(refused) => assert_advice(&refused.to_string(), kept),
            Ok(store) if kept == 0 => {
                let stand = Stand::on(Arc::new(store)).await;
                stand.assert_goes_on("anew").await;
                stand.stop().await;
            }
            // The damage lies where nobody has looked yet: who looks is told.
            Ok(store) => {
                let client = Stand::on(Arc::new(store)).await;
                let asked = client.client.start_orchestration("x", "One", "").await;
                let read = client.client.get_system_metrics().await.map(drop);
                let told = asked.and(read).unwrap_err().to_string();
                client.stop().await;
                assert_advice(&told, kept);
            }
        }
    }
}

fn assert_advice(told: &str, kept: usize) {
    let known = told.contains("restore it from a backup") || told.contains("check the path");
    assert!(known, "{kept} bytes kept: {told}");
}
