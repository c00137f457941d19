//! Leases of processes that are alive, and of those that are dead.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use duroxide_core::providers::{Provider, SessionFetchConfig, TagFilter, WorkItem};
use duroxide_sqlite::SqliteProvider;

use crate::support::*;

fn presence_files(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.to_str().unwrap().contains("store.db-node-")).collect()
}

fn in_session(id: u64) -> WorkItem {
    let WorkItem::ActivityExecute { instance, execution_id, name, input, tag, .. } =
        activity("a", id)
    else {
        unreachable!()
    };
    let session_id = Some("s".to_owned());
    WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag }
}

async fn work(provider: &dyn Provider, owner: &str) -> Option<(WorkItem, String, u32)> {
    let session = SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout: LEASE };
    provider.fetch_work_item(LEASE, NOW, Some(&session), &TagFilter::DefaultOnly).await.unwrap()
}

/// A store whose provider holds a turn, an activity, and a session with an activity that waits.
async fn leased() -> (Store, String, [String; 2]) {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let turn = turn(provider).await;
    for item in [activity("a", 1), in_session(2)] {
        provider.enqueue_for_worker(item).await.unwrap();
    }
    let (_, first, _) = work(provider, "one").await.unwrap();
    let (_, second, _) = work(provider, "one").await.unwrap();
    provider.enqueue_for_worker(in_session(3)).await.unwrap();
    (store, turn.lock_token, [first, second])
}

/// Opening a database checks for dead processes before the first call.
#[tokio::test]
async fn leases_of_an_open_provider_are_never_taken() {
    let (store, turn_token, work_tokens) = leased().await;
    for _ in 0..3 {
        let other = store.another().await;
        assert!(try_turn(&*other).await.is_none());
        assert!(work(&*other, "two").await.is_none());
        other.close().await.unwrap();
        assert_eq!(presence_files(store.folder.path()).len(), 1);
    }
    let provider = &*store.provider;
    provider.store_turn(commit(&turn_token, vec![started("a", 1)])).await.unwrap();
    for token in work_tokens {
        provider.ack_work_item(&token, None).await.unwrap();
    }
}

/// The process of a closed provider goes on, and may still run what it leased.
#[tokio::test]
async fn leases_of_a_closed_provider_last_until_they_expire() {
    let (store, ..) = leased().await;
    store.provider.close().await.unwrap();
    assert!(presence_files(store.folder.path()).is_empty());
    let other = store.another().await;
    assert!(try_turn(&*other).await.is_none());
    assert!(work(&*other, "two").await.is_none());
    store.clock.advance(LEASE);
    assert!(try_turn(&*other).await.is_some());
    assert!(work(&*other, "two").await.is_some());
}

/// A copy of the files looks like a database whose process was killed.
#[tokio::test]
async fn leases_of_a_dead_process_end_when_the_database_is_opened() {
    let (store, ..) = leased().await;
    store.provider.checkpoint().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [file] = &presence_files(store.folder.path())[..] else { panic!() };
    for path in [&store.folder.path().join("store.db"), file] {
        fs::copy(path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let next: Arc<SqliteProvider> = open(&url(&folder), &store.clock).await;
    let turn = turn(&*next).await;
    assert_eq!((turn.item.instance.as_str(), turn.attempt_count), ("a", 2));
    let mut found = Vec::new();
    while let Some((item, _, attempt)) = work(&*next, "two").await {
        found.push((item, attempt));
    }
    found.sort_by_key(|(_, attempt)| *attempt);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(found[0], (in_session(3), 1));
    assert_eq!([found[1].1, found[2].1], [2, 2]);
    let left = presence_files(folder.path());
    assert_eq!(left.len(), 1, "only that of the open provider: {left:?}");
    assert_ne!(left[0].file_name(), file.file_name());
    // The live process has lost nothing.
    assert!(try_turn(&*store.provider).await.is_none());
}

/// The folder may belong to another user: then leases expire as ever.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_cannot_be_opened_belongs_to_a_live_process() {
    let (store, ..) = leased().await;
    // A folder of that name can be opened neither for writing nor be locked, by any user.
    let name = "store.db-node-0123456789abcdef0123456789abcdef";
    fs::create_dir(store.folder.path().join(name)).unwrap();
    let other = store.another().await;
    assert!(try_turn(&*other).await.is_none());
    assert!(store.folder.path().join(name).exists());
}
