//! Several providers and processes on one file.

use std::collections::HashSet;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide_core::providers::{Provider, ProviderAdmin, TagFilter};
use duroxide_sqlite::SqliteProvider;

use crate::support::*;

const CHILD_URL: &str = "DUROXIDE_TEST_CHILD_URL";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_providers_share_the_work_of_one_file() {
    let store = Store::new().await;
    let other = store.another().await;
    for number in 0..30 {
        let item = start(&format!("i-{number}"));
        let provider = if number % 2 == 0 { &store.provider } else { &other };
        provider.enqueue_for_orchestrator(item, None).await.unwrap();
    }
    let mut tasks = Vec::new();
    for provider in [Arc::clone(&store.provider), other] {
        tasks.push(tokio::spawn(async move {
            let mut mine = Vec::new();
            while let Some(turn) = try_turn(&*provider).await {
                let events = vec![started(&turn.item.instance, 1)];
                provider.store_turn(commit(&turn.lock_token, events)).await.unwrap();
                mine.push(turn.item.instance);
            }
            mine
        }));
    }
    let mut all = Vec::new();
    for task in tasks {
        all.extend(task.await.unwrap());
    }
    assert_eq!(all.len(), 30);
    assert_eq!(all.into_iter().collect::<HashSet<_>>().len(), 30);
    assert_eq!(store.provider.list_instances().await.unwrap().len(), 30);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_new_file_can_be_opened_by_many_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(&folder);
    let mut tasks = Vec::new();
    for number in 0..8 {
        let url = url.clone();
        tasks.push(tokio::spawn(async move {
            let provider = SqliteProvider::new(&url, None).await.unwrap();
            provider.enqueue_for_worker(activity("a", number)).await.unwrap();
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let provider = SqliteProvider::new(&url, None).await.unwrap();
    assert_eq!(provider.get_queue_depths().await.unwrap().worker_queue, 8);
}

/// The product with the factor for idle times overflowed and stopped the storage thread.
#[tokio::test]
async fn the_longest_poll_interval_is_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let provider = SqliteProvider::builder(&url(&folder))
        .with_cross_process_poll_interval(Duration::MAX)
        .open()
        .await
        .unwrap();
    for instance in ["a", "b"] {
        create(&provider, instance).await;
    }
}

/// The storage thread chose its long pause for idle times before the caller was seen to wait.
#[tokio::test]
async fn a_new_waiter_is_soon_notified_of_other_processes() {
    const INTERVAL: Duration = Duration::from_secs(1);
    let store = Store::new().await;
    let slow = SqliteProvider::builder(&store.url()).with_cross_process_poll_interval(INTERVAL);
    let slow = slow.open().await.unwrap();
    let wait = async {
        let fetch = wish(1).with_poll_timeout(PATIENCE);
        slow.fetch_orchestration_items(fetch).await.unwrap()
    };
    let send = async {
        // Real time: the thread has to be asleep by then.
        tokio::time::sleep(INTERVAL / 3).await;
        store.provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
        Instant::now()
    };
    let (turns, sent) = tokio::join!(wait, send);
    assert_eq!(turns.len(), 1);
    assert!(sent.elapsed() < INTERVAL * 10, "{:?}", sent.elapsed());
}

/// Runs only inside the process that the test below starts.
#[tokio::test]
async fn child_process() {
    let Ok(url) = std::env::var(CHILD_URL) else { return };
    let provider = SqliteProvider::new(&url, None).await.unwrap();
    provider.enqueue_for_worker(activity("from-child", 1)).await.unwrap();
    answer_parent(&provider).await;
}

/// Waits for the parent's message and replies to it.
async fn answer_parent(provider: &SqliteProvider) {
    let fetch = wish(1).with_poll_timeout(PATIENCE);
    let turn = provider.fetch_orchestration_items(fetch).await.unwrap().pop().unwrap();
    assert_eq!(turn.item.instance, "from-parent");
    let events = vec![started("from-parent", 1)];
    provider.store_turn(commit(&turn.lock_token, events)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_notify_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let url = url(&folder);
    let provider = SqliteProvider::new(&url, None).await.unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::child_process", "--nocapture"])
        .env(CHILD_URL, &url)
        .spawn()
        .unwrap();
    let fetched = provider.fetch_work_item(LEASE, PATIENCE, None, &TagFilter::Any).await.unwrap();
    assert_eq!(fetched.expect("the child sends an activity").0, activity("from-child", 1));
    provider.enqueue_for_orchestrator(start("from-parent"), None).await.unwrap();
    let exit = tokio::task::spawn_blocking(move || child.wait()).await.unwrap().unwrap();
    assert!(exit.success());
    assert_eq!(provider.read("from-parent").await.unwrap().len(), 1);
}
