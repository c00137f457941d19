//! Sessions.

use std::time::Duration;

use duroxide_core::providers::{
    FetchFilter, Provider, SessionFetchConfig, TagFilter, WorkFetch, WorkItem, WorkSlot,
};

use crate::support::*;

const SESSION: Duration = Duration::from_secs(60);

fn in_session(id: u64, session: &str) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: "a".to_owned(),
        execution_id: 1,
        id,
        name: "Work".to_owned(),
        input: String::new(),
        session_id: Some(session.to_owned()),
        tag: None,
    }
}

fn owner(id: &str) -> SessionFetchConfig {
    SessionFetchConfig { owner_id: id.to_owned(), lock_timeout: SESSION }
}

async fn take(provider: &dyn Provider, by: Option<&str>) -> Option<(WorkItem, String)> {
    let session = by.map(owner);
    let fetched =
        provider.fetch_work_item(LEASE, NOW, session.as_ref(), &TagFilter::DefaultOnly).await;
    fetched.unwrap().map(|(item, token, _)| (item, token))
}

#[tokio::test]
async fn a_session_stays_with_its_owner_until_its_lease_expires() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for id in 1..=3 {
        provider.enqueue_for_worker(in_session(id, "s")).await.unwrap();
    }
    assert!(take(provider, None).await.is_none());
    let (first, token) = take(provider, Some("w1")).await.unwrap();
    assert_eq!(first, in_session(1, "s"));
    assert!(take(provider, Some("w2")).await.is_none());
    assert_eq!(take(provider, Some("w1")).await.unwrap().0, in_session(2, "s"));
    // The lease of the session does not govern the lease of the activity.
    provider.renew_work_item_lock(&token, SESSION * 2).await.unwrap();
    store.clock.advance(SESSION);
    assert_eq!(take(provider, Some("w2")).await.unwrap().0, in_session(2, "s"));
    provider.ack_work_item(&token, None).await.unwrap();
    assert!(take(provider, Some("w1")).await.is_none());
}

#[tokio::test]
async fn only_sessions_in_use_are_renewed() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(in_session(1, "s")).await.unwrap();
    let (_, token) = take(provider, Some("w1")).await.unwrap();
    assert_eq!(provider.renew_session_lock(&["w1"], SESSION, Duration::ZERO).await.unwrap(), 0);
    let idle = Duration::from_millis(200);
    store.clock.advance(Duration::from_millis(150));
    provider.renew_work_item_lock(&token, LEASE).await.unwrap();
    store.clock.advance(Duration::from_millis(150));
    assert_eq!(provider.renew_session_lock(&["w1", "w2"], SESSION, idle).await.unwrap(), 1);
    provider.ack_work_item(&token, None).await.unwrap();
    store.clock.advance(SESSION);
    assert_eq!(provider.renew_session_lock(&["w1"], SESSION, SESSION * 9).await.unwrap(), 0);
}

#[tokio::test]
async fn expired_sessions_without_work_are_removed() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(in_session(1, "busy")).await.unwrap();
    provider.enqueue_for_worker(in_session(2, "done")).await.unwrap();
    take(provider, Some("w1")).await.unwrap();
    let (_, token) = take(provider, Some("w1")).await.unwrap();
    provider.ack_work_item(&token, None).await.unwrap();
    assert_eq!(provider.cleanup_orphaned_sessions(SESSION).await.unwrap(), 0);
    store.clock.advance(SESSION);
    assert_eq!(provider.cleanup_orphaned_sessions(SESSION).await.unwrap(), 1);
}

#[tokio::test]
async fn slots_of_one_batch_with_owners_of_their_own_do_not_share_a_session() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(in_session(1, "s")).await.unwrap();
    provider.enqueue_for_worker(in_session(2, "s")).await.unwrap();
    provider.enqueue_for_worker(activity("a", 3)).await.unwrap();
    let slots = [WorkSlot::new(Some(owner("w1"))), WorkSlot::new(Some(owner("w2")))];
    let filter = FetchFilter::from(&TagFilter::DefaultOnly);
    let fetch = WorkFetch::new(&slots, LEASE).with_poll_timeout(NOW).with_filter(&filter);
    let work = provider.fetch_work_items(fetch).await.unwrap();
    let items: Vec<_> = work.into_iter().map(|work| work.item).collect();
    assert_eq!(items, [in_session(1, "s"), activity("a", 3)]);
}

#[tokio::test]
async fn an_owner_that_is_named_twice_counts_once() {
    let store = Store::new().await;
    let provider = &*store.provider;
    provider.enqueue_for_worker(in_session(1, "s")).await.unwrap();
    take(provider, Some("w1")).await.unwrap();
    let renewed = provider.renew_session_lock(&["w1", "w1"], SESSION, SESSION).await.unwrap();
    assert_eq!(renewed, 1);
}

/// Starts a fetch, lets the writer lease what it finds, and drops the fetch.
async fn take_and_vanish(store: &Store, by: &str, leased: i64) {
    let owner = owner(by);
    let tags = TagFilter::DefaultOnly;
    let mut fetch = store.provider.fetch_work_item(LEASE, NOW, Some(&owner), &tags);
    // The first poll sends the job, which cannot run yet; a second would receive its response.
    let gate = store.sql();
    gate.execute_batch("BEGIN IMMEDIATE").unwrap();
    tokio::select! {
        biased;
        _ = &mut fetch => panic!("the database was locked"),
        () = std::future::ready(()) => {}
    }
    gate.execute_batch("COMMIT").unwrap();
    let sql = "SELECT count(*) FROM worker_queue WHERE lock_token IS NOT NULL";
    while store.count(sql) < leased {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_dropped_fetch_releases_the_session_that_it_claimed() {
    let store = Store::new().await;
    store.provider.enqueue_for_worker(in_session(1, "s")).await.unwrap();
    take_and_vanish(&store, "w1", 1).await;
    assert_eq!(take(&*store.provider, Some("w2")).await.unwrap().0, in_session(1, "s"));
}

#[tokio::test]
async fn a_dropped_fetch_keeps_a_session_that_was_held_before() {
    let store = Store::new().await;
    for id in 1..=2 {
        store.provider.enqueue_for_worker(in_session(id, "s")).await.unwrap();
    }
    let (_, token) = take(&*store.provider, Some("w1")).await.unwrap();
    take_and_vanish(&store, "w1", 2).await;
    store.provider.ack_work_item(&token, None).await.unwrap();
    assert!(take(&*store.provider, Some("w2")).await.is_none());
    assert_eq!(take(&*store.provider, Some("w1")).await.unwrap().0, in_session(2, "s"));
}
