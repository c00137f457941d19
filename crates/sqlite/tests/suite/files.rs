//! The database as a file: closing it, copying it, who may read it.

use std::fs;
use std::path::Path;

use duroxide_core::providers::{Provider, ProviderAdmin, ProviderErrorKind};
use duroxide_sqlite::{SqliteError, SqliteProvider};

use crate::support::*;

async fn open(path: &Path) -> SqliteProvider {
    SqliteProvider::new(path.to_str().unwrap(), None).await.unwrap()
}

/// The log held everything, and a copy of the file opened as an empty database, silently.
#[tokio::test]
async fn a_copy_made_after_a_checkpoint_is_complete() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    Provider::checkpoint(&*store.provider).await.unwrap();
    let copy = store.folder.path().join("copy.db");
    fs::copy(store.folder.path().join("store.db"), &copy).unwrap();
    assert_eq!(open(&copy).await.list_instances().await.unwrap(), ["a"]);
}

#[tokio::test]
async fn closing_ends_the_threads_and_leaves_one_complete_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let provider = open(&path).await;
    create(&provider, "a").await;
    provider.read("a").await.unwrap();
    provider.close().await.unwrap();
    let names = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
    };
    assert_eq!(names(folder.path()), ["store.db"]);
    #[cfg(target_os = "linux")]
    assert_eq!(open_descriptors(&path), 0);
    let moved = folder.path().join("moved.db");
    fs::rename(&path, &moved).unwrap();
    assert_eq!(open(&moved).await.list_instances().await.unwrap(), ["a"]);
}

#[cfg(target_os = "linux")]
fn open_descriptors(path: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok())
        .filter(|target| target == path)
        .count()
}

#[tokio::test]
async fn calls_of_a_closed_provider_fail_and_closing_again_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let in_file = open(&folder.path().join("store.db")).await;
    for provider in [SqliteProvider::new_in_memory().await.unwrap(), in_file] {
        tokio::join!(async { provider.close().await.unwrap() }, async {
            provider.close().await.unwrap()
        });
        provider.close().await.unwrap();
        let refused = [
            provider.read("a").await.map(drop).unwrap_err(),
            provider.enqueue_for_orchestrator(start("a"), None).await.unwrap_err(),
            provider.fetch_orchestration_items(wish(1)).await.map(drop).unwrap_err(),
            Provider::checkpoint(&provider).await.unwrap_err(),
        ];
        for error in refused {
            assert!(!error.is_retryable(), "{error}");
            assert_eq!(error.kind, ProviderErrorKind::Unavailable);
            assert!(error.message.contains("stopped"), "{error}");
        }
    }
}

#[tokio::test]
async fn closing_ends_a_fetch_that_waits() {
    let store = Store::new().await;
    let fetch = wish(1).with_poll_timeout(PATIENCE * 100);
    let waiting = store.provider.fetch_orchestration_items(fetch);
    tokio::pin!(waiting);
    // Polled once, so that it waits.
    tokio::select! {
        biased;
        _ = &mut waiting => panic!("nothing is ready"),
        () = async { for _ in 0..10 { store.provider.read("a").await.unwrap(); } } => {}
    }
    let (fetched, closed) = tokio::join!(waiting, store.provider.close());
    closed.unwrap();
    assert!(!fetched.unwrap_err().is_retryable());
}

#[tokio::test]
async fn what_was_requested_before_the_close_is_stored() {
    let store = Store::new().await;
    let starts = (0..50).map(|number| {
        let provider = store.provider.clone();
        async move { provider.enqueue_for_orchestrator(start(&format!("i-{number}")), None).await }
    });
    let starts: Vec<_> = starts.map(tokio::spawn).collect();
    tokio::task::yield_now().await;
    store.provider.close().await.unwrap();
    let mut acknowledged = 0;
    for start in starts {
        acknowledged += i64::from(start.await.unwrap().is_ok());
    }
    assert_eq!(store.count("SELECT count(*) FROM orchestrator_queue"), acknowledged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_is_one_snapshot_and_writers_go_on() {
    let store = Store::new().await;
    for number in 0..50 {
        create(&*store.provider, &format!("before-{number}")).await;
    }
    let target = store.folder.path().join("backup.db");
    let write = async {
        for number in 0..50 {
            create(&*store.provider, &format!("during-{number}")).await;
        }
    };
    let (copied, ()) = tokio::join!(store.provider.backup(&target), write);
    copied.unwrap();
    let copy = open(&target).await;
    let instances = copy.list_instances().await.unwrap();
    assert!(instances.len() >= 50, "{}", instances.len());
    for instance in instances {
        assert_eq!(copy.read(&instance).await.unwrap().len(), 1);
    }
    let left = fs::read_dir(store.folder.path()).unwrap();
    let partial = left
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("partial"));
    assert_eq!(partial.count(), 0);
}

#[tokio::test]
async fn a_backup_never_replaces_a_file_and_leaves_nothing_behind() {
    let store = Store::new().await;
    let target = store.folder.path().join("backup.db");
    fs::write(&target, "precious").unwrap();
    let error = store.provider.backup(&target).await.unwrap_err();
    assert!(matches!(error, SqliteError::Backup { .. }), "{error}");
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    let nowhere = store.folder.path().join("no").join("backup.db");
    let error = store.provider.backup(&nowhere).await.unwrap_err();
    assert!(error.to_string().contains("cannot write backup"), "{error}");
}

#[tokio::test]
async fn databases_in_memory_and_read_only_ones_can_be_backed_up() {
    let folder = tempfile::tempdir().unwrap();
    let memory = SqliteProvider::new_in_memory().await.unwrap();
    create(&memory, "a").await;
    let first = folder.path().join("first.db");
    memory.backup(&first).await.unwrap();
    drop(open(&first).await);
    let read_only = format!("sqlite:{}?mode=ro", first.display());
    let read_only = SqliteProvider::new(&read_only, None).await.unwrap();
    let second = folder.path().join("second.db");
    read_only.backup(&second).await.unwrap();
    assert_eq!(open(&second).await.list_instances().await.unwrap(), ["a"]);
}

/// Payloads were readable for every user of the machine.
#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    store.provider.backup(store.folder.path().join("backup.db")).await.unwrap();
    let mut seen = 0;
    for entry in fs::read_dir(store.folder.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{:?}", entry.path());
        seen += 1;
    }
    assert!(seen >= 4, "database, log, index and backup: {seen}");
}
