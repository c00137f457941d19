//! A fetch takes nothing from a live node of its own process, whatever other processes did before.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use duroxide_core::client::Client;
use duroxide_core::providers::{LeaseHolder, Provider, SessionFetchConfig, TagFilter, WorkItem};
use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry, Runtime};
use duroxide_core::{ActivityContext, OrchestrationContext};
use duroxide_pg::PostgresProvider;
use tokio::sync::{Semaphore, mpsc};

use crate::support::*;

/// A node that holds the leases that a test names.
#[derive(Default)]
struct Holder(Mutex<Vec<String>>);

impl Holder {
    fn of(node: &PostgresProvider) -> Arc<Self> {
        let holder = Arc::new(Self::default());
        let weak: Weak<Self> = Arc::downgrade(&holder);
        node.add_lease_holder(weak);
        holder
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LeaseHolder for Holder {
    fn holds(&self, token: &str) -> bool {
        self.held().iter().any(|held| held == token)
    }

    fn holds_any(&self) -> bool {
        !self.held().is_empty()
    }
}

fn of_session(item: WorkItem) -> WorkItem {
    let mut item = item;
    if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
        *session_id = Some("session".to_owned());
    }
    item
}

/// The fetch of another process makes an expired lease claimable although it claims something else,
/// or nothing. A process that was paused meanwhile found its own activity claimable.
#[tokio::test]
async fn work_that_another_process_released_stays_with_its_live_holder() {
    let plain = TagFilter::DefaultOnly;
    for (item, filter) in [
        (activity("a", 1), plain.clone()),
        (activity("a", 1), TagFilter::default_and(["x"])),
        (of_session(activity("a", 1)), plain),
    ] {
        let store = Store::new();
        let (ours, other) = (store.node().await, store.node().await);
        let holder = Holder::of(&ours);
        let owner = SessionFetchConfig { owner_id: "ours".to_owned(), lock_timeout: LEASE };
        let fetch = || ours.fetch_work_item(LEASE, NOW, Some(&owner), &filter);
        ours.enqueue_for_worker(item.clone()).await.unwrap();
        let (_, token, _) = fetch().await.unwrap().unwrap();
        holder.held().push(token.clone());
        ours.enqueue_for_worker(activity("b", 1)).await.unwrap();
        ours.enqueue_for_worker(tagged("c", 1, Some("x"))).await.unwrap();
        store.advance(LEASE * 2);
        let nothing = TagFilter::tags(["unknown"]);
        assert!(other.fetch_work_item(LEASE, NOW, None, &nothing).await.unwrap().is_none());
        let leased = "SELECT count(*) FROM $.worker_queue WHERE locked_until IS NOT NULL";
        assert_eq!(store.count(leased).await, 0, "the other process has released it");
        let (next, next_token, _) = fetch().await.unwrap().unwrap();
        assert_eq!(next, activity("b", 1), "{filter:?}");
        ours.renew_work_item_lock(&token, LEASE).await.unwrap();
        // Without its holder it is free.
        ours.ack_work_item(&next_token, None).await.unwrap();
        holder.held().clear();
        holder.held().push("another".to_owned());
        store.advance(LEASE * 2);
        assert!(other.fetch_work_item(LEASE, NOW, None, &nothing).await.unwrap().is_none());
        let (again, _, attempt) = fetch().await.unwrap().unwrap();
        assert_eq!((again, attempt), (item, 2), "{filter:?}");
    }
}

/// A node that got its only lease while a fetch was on its way to the server.
struct Late(String);

impl LeaseHolder for Late {
    fn holds(&self, token: &str) -> bool {
        self.0 == token
    }

    fn holds_any(&self) -> bool {
        false
    }
}

/// The fetch had found that its process holds no lease, and claimed what had expired.
#[tokio::test]
async fn a_lease_that_is_younger_than_the_fetch_stays_with_its_holder() {
    let store = Store::new();
    let node = store.node().await;
    let fetch = || node.fetch_work_item(LEASE, NOW, None, &TagFilter::DefaultOnly);
    node.enqueue_for_worker(activity("a", 1)).await.unwrap();
    let (_, token, _) = fetch().await.unwrap().unwrap();
    let late = Arc::new(Late(token.clone()));
    let weak: Weak<Late> = Arc::downgrade(&late);
    node.add_lease_holder(weak);
    store.advance(LEASE * 2);
    assert!(fetch().await.unwrap().is_none());
    node.ack_work_item(&token, None).await.unwrap();
}

/// The clock of the server jumped forward, or the program was paused: its node claimed its own
/// activities again.
#[tokio::test]
async fn a_server_clock_that_jumps_takes_nothing_from_a_live_node() {
    let store = Store::live();
    let node: Arc<dyn Provider> = store.node().await;
    let (started, mut starts) = mpsc::unbounded_channel();
    let go = Arc::new(Semaphore::new(0));
    let permits = Arc::clone(&go);
    let wait = move |ctx: ActivityContext, _: String| {
        let (started, permits) = (started.clone(), Arc::clone(&permits));
        async move {
            started.send(ctx.attempt()).map_err(|error| error.to_string())?;
            permits.acquire().await.map_err(|error| error.to_string())?.forget();
            Ok(String::new())
        }
    };
    let call = |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_activity("Wait", "").await
    };
    let runtime = Runtime::start_with_store(
        Arc::clone(&node),
        ActivityRegistry::builder().register("Wait", wait).build(),
        OrchestrationRegistry::builder().register("Call", call).build(),
    )
    .await;
    let client = Client::new(Arc::clone(&node));
    client.start_orchestration("held", "Call", "").await.unwrap();
    assert_eq!(starts.recv().await, Some(1));
    let sql = store.sql().await;
    for hour in 1..=3 {
        sql.run(&format!(
            "CREATE OR REPLACE FUNCTION $.now_ms() RETURNS BIGINT LANGUAGE sql VOLATILE AS
             'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT
                  + {hour} * 3600000'"
        ))
        .await;
        // A new activity wakes the fetch of the node.
        node.enqueue_for_worker(activity("unknown", hour)).await.unwrap();
        let extended = async {
            let live = "SELECT count(*) FROM $.worker_queue
                 WHERE instance_id = 'held' AND locked_until > $.now_ms()";
            while sql.count(live).await == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, extended).await.expect("a fetch extends the lease");
    }
    go.add_permits(1);
    client.wait_for_orchestration("held", PATIENCE).await.unwrap();
    assert!(starts.try_recv().is_err(), "it ran once");
    runtime.shutdown(None).await;
}
