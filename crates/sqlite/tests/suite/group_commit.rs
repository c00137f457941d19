//! Many callers, one commit.

use std::collections::HashSet;
use std::sync::Arc;

use duroxide_core::providers::{Provider, ProviderAdmin};

use crate::support::*;

#[tokio::test]
async fn a_failing_job_undoes_only_itself() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    let append = |id| provider.append_with_execution("b", 1, vec![heard("b", id)]);
    // All of these are waiting when the writer wakes up: the third repeats an event.
    let (one, two, repeated, three, bad_token) = tokio::join!(
        append(1),
        append(2),
        append(1),
        append(3),
        provider.store_turn(commit("lock_unknown", vec![])),
    );
    one.unwrap();
    two.unwrap();
    three.unwrap();
    assert!(!repeated.unwrap_err().is_retryable());
    assert!(bad_token.unwrap_err().message.contains("Invalid lock token"));
    assert_eq!(provider.read("b").await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_job_that_fails_half_way_undoes_only_its_own_changes() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    let append = |ids: &[u64]| {
        let events = ids.iter().map(|id| heard("b", *id)).collect();
        provider.append_with_execution("b", 1, events)
    };
    // A job that shares a transaction with a failing one runs twice, and counts once.
    let (one, half, two, again, three, leased) = tokio::join!(
        append(&[1, 2]),
        append(&[10, 11, 2]),
        append(&[3]),
        append(&[12, 3]),
        append(&[4]),
        provider.enqueue_for_worker(activity("b", 9)),
    );
    for good in [one, two, three, leased] {
        good.unwrap();
    }
    for bad in [half, again] {
        assert!(bad.unwrap_err().message.contains("already stored"));
    }
    let stored = provider.read("b").await.unwrap();
    let ids: Vec<u64> = stored.iter().map(|event| event.event_id).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    assert_eq!(provider.get_queue_depths().await.unwrap().worker_queue, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_writers_lose_nothing() {
    let store = Store::new().await;
    let mut tasks = Vec::new();
    for writer in 0..16 {
        let provider = Arc::clone(&store.provider);
        tasks.push(tokio::spawn(async move {
            for number in 0..20 {
                let instance = format!("i-{writer}-{number}");
                provider.enqueue_for_orchestrator(start(&instance), None).await.unwrap();
                provider.enqueue_for_worker(activity(&instance, 1)).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let depths = store.provider.get_queue_depths().await.unwrap();
    assert_eq!((depths.orchestrator_queue, depths.worker_queue), (320, 320));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_instance_is_leased_twice() {
    let store = Store::new().await;
    for number in 0..40 {
        let item = start(&format!("i-{number}"));
        store.provider.enqueue_for_orchestrator(item, None).await.unwrap();
    }
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let provider = Arc::clone(&store.provider);
        tasks.push(tokio::spawn(async move {
            let mut mine = Vec::new();
            while let Some(turn) = try_turn(&*provider).await {
                mine.push(turn.item.instance);
            }
            mine
        }));
    }
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.unwrap());
    }
    assert_eq!(all.len(), 40);
    assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), 40);
}

#[tokio::test]
async fn everything_works_in_memory_and_memory_is_private() {
    let provider = duroxide_sqlite::SqliteProvider::new_in_memory().await.unwrap();
    let other = duroxide_sqlite::SqliteProvider::new("sqlite::memory:", None).await.unwrap();
    create(&provider, "a").await;
    assert_eq!(provider.list_instances().await.unwrap(), ["a"]);
    assert!(other.list_instances().await.unwrap().is_empty());
    provider.checkpoint().await.unwrap();
    assert!(provider.debug_dump().await.contains("instance_id=a"));
    assert_eq!((provider.name(), provider.version()), ("sqlite", env!("CARGO_PKG_VERSION")));
}

#[tokio::test]
async fn committed_changes_survive_reopening() {
    let store = Store::new().await;
    create(&*store.provider, "a").await;
    store.provider.checkpoint().await.unwrap();
    let again = store.another().await;
    assert_eq!(again.read("a").await.unwrap().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn the_log_of_a_linked_file_is_flushed_where_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    std::fs::write(elsewhere.join("real.db"), []).unwrap();
    let link = folder.path().join("link.db");
    std::os::unix::fs::symlink(elsewhere.join("real.db"), &link).unwrap();
    let url = format!("sqlite:{}", link.display());
    let provider = duroxide_sqlite::SqliteProvider::new(&url, None).await.unwrap();
    create(&provider, "a").await;
    assert!(elsewhere.join("real.db-wal").exists());
    assert_eq!(provider.list_instances().await.unwrap(), ["a"]);
}
