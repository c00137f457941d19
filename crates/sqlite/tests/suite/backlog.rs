//! What a node may not claim costs its fetches nothing.
//!
//! Every fetch used to read all ready messages and activities until it found one that it could
//! claim: with 100,000 instances pinned to another version, a workflow of five steps took seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide_core::providers::{
    DispatcherCapabilityFilter, FetchFilter, Provider, RegisteredOrchestrations, SemverRange,
    SessionFetchConfig, TagFilter, TurnFetch, WorkFetch, WorkItem, WorkSlot,
};
use duroxide_sqlite::SqliteProvider;
use semver::Version;
use tokio::task::JoinSet;

use crate::support::*;

/// Large enough for a scan to take a hundred times as long as a probe.
pub(crate) const BACKLOG: usize = 2_000;
const SAMPLES: usize = 20;
const SAMPLES_MAX: usize = 2_000;
/// A scan of the backlog exceeds this by far; a busy machine does not.
const FACTOR: u32 = 6;

fn instance(number: usize) -> String {
    format!("foreign-{number}")
}

/// A filter of a node that can replay version 1 only.
fn version_1() -> FetchFilter {
    let range = SemverRange::new("1.0.0".parse().unwrap(), "1.9.9".parse().unwrap());
    FetchFilter::from(Some(&DispatcherCapabilityFilter {
        supported_duroxide_versions: vec![range],
    }))
}

/// The quickest of several samples. On a busy machine it takes more of them until one is quick
/// enough.
pub(crate) async fn quickest(
    enough: Duration,
    mut sample: impl AsyncFnMut() -> Duration,
) -> Duration {
    let mut quickest = Duration::MAX;
    for number in 0..SAMPLES_MAX {
        if number >= SAMPLES && quickest < enough {
            break;
        }
        quickest = quickest.min(sample().await);
    }
    quickest
}

/// Measures again, and asserts that it costs about as much as before.
pub(crate) async fn assert_flat(alone: Duration, measure: impl AsyncFnOnce(Duration) -> Duration) {
    let behind = measure(alone * FACTOR).await;
    assert!(behind < alone * FACTOR, "{alone:?} without a backlog, {behind:?} behind one");
}

/// The cost to fetch the turn of one instance, which is released again.
struct TurnCost<'a> {
    provider: &'a SqliteProvider,
    filter: &'a FetchFilter,
}

impl TurnCost<'_> {
    async fn alone(&self, expected: &str) -> Duration {
        self.measure(Duration::MAX, expected).await
    }

    async fn assert_as_before(&self, alone: Duration, expected: &str) {
        assert_flat(alone, async |enough| self.measure(enough, expected).await).await;
    }

    async fn measure(&self, enough: Duration, expected: &str) -> Duration {
        let sample = async || {
            let begin = Instant::now();
            let fetch = TurnFetch::new(1, LEASE).with_filter(self.filter);
            let turn = self.provider.fetch_orchestration_items(fetch).await.unwrap().pop();
            let took = begin.elapsed();
            let turn = turn.expect("a turn is ready");
            assert_eq!(turn.item.instance, expected);
            self.provider.abandon_orchestration_item(&turn.lock_token, None, true).await.unwrap();
            took
        };
        quickest(enough, sample).await
    }
}

pub(crate) fn continuation(instance: &str, orchestration: &str, version: Option<&str>) -> WorkItem {
    WorkItem::ContinueAsNew {
        instance: instance.to_owned(),
        orchestration: orchestration.to_owned(),
        input: String::new(),
        version: version.map(str::to_owned),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: Vec::new(),
        initial_custom_status: None,
    }
}

async fn send(provider: &Arc<SqliteProvider>, items: impl Iterator<Item = WorkItem>) {
    let mut sent = JoinSet::new();
    for item in items {
        let provider = Arc::clone(provider);
        sent.spawn(async move { provider.enqueue_for_orchestrator(item, None).await.unwrap() });
    }
    sent.join_all().await;
}

/// Creates instances that version 9 started.
async fn create_foreign(provider: &Arc<SqliteProvider>) {
    let mut pinned = named();
    pinned.pinned_duroxide_version = Some("9.0.0".parse().unwrap());
    send(provider, (0..BACKLOG).map(|number| start(&instance(number)))).await;
    let mut created = 0;
    while created < BACKLOG {
        let turns = provider.fetch_orchestration_items(wish(50)).await.unwrap();
        assert!(!turns.is_empty());
        created += turns.len();
        let mut commits = JoinSet::new();
        for turn in turns {
            let events = vec![started(&turn.item.instance, 1)];
            let turn = commit(&turn.lock_token, events).with_metadata(pinned.clone());
            let provider = Arc::clone(provider);
            commits.spawn(async move { provider.store_turn(turn).await.unwrap() });
        }
        commits.join_all().await;
    }
}

#[tokio::test]
async fn a_fetch_does_not_read_instances_pinned_to_other_versions() {
    let store = Store::new().await;
    let provider = &store.provider;
    create_foreign(provider).await;
    // The node's own work arrives behind the backlog.
    let filter = version_1();
    provider.enqueue_for_orchestrator(start("first"), None).await.unwrap();
    let cost = TurnCost { provider, filter: &filter };
    let alone = cost.alone("first").await;
    let turn = provider.fetch_orchestration_items(wish(1)).await.unwrap().pop().unwrap();
    provider.store_turn(commit(&turn.lock_token, vec![started("first", 1)])).await.unwrap();
    send(provider, (0..BACKLOG).map(|number| signal(&instance(number), "x"))).await;
    provider.enqueue_for_orchestrator(start("second"), None).await.unwrap();
    cost.assert_as_before(alone, "second").await;
}

/// A node that has the orchestration of `start` and a few others.
fn registered() -> FetchFilter {
    let names = ["Alpha", "Test", "TestOrch", "Zeta"].map(|name| (name, Version::new(1, 0, 0)));
    FetchFilter::everything().with_orchestrations(RegisteredOrchestrations::new(names))
}

fn start_of(instance: &str, name: String) -> WorkItem {
    let mut item = start(instance);
    if let WorkItem::StartOrchestration { orchestration, .. } = &mut item {
        *orchestration = name;
    }
    item
}

#[tokio::test]
async fn a_fetch_does_not_read_turns_of_code_that_the_node_lacks() {
    let store = Store::new().await;
    let provider = &store.provider;
    let filter = registered();
    provider.enqueue_for_orchestrator(start("first"), None).await.unwrap();
    let cost = TurnCost { provider, filter: &filter };
    let alone = cost.alone("first").await;
    let turn = turn(&**provider).await;
    provider.store_turn(commit(&turn.lock_token, vec![started("first", 1)])).await.unwrap();
    // As many of one name as of different ones, which lie between those of the node.
    let same = (0..BACKLOG).map(|number| start_of(&instance(number), "Foreign".to_owned()));
    send(provider, same).await;
    let named = |number| start_of(&instance(BACKLOG + number), format!("Foreign{number}"));
    send(provider, (0..BACKLOG).map(named)).await;
    provider.enqueue_for_orchestrator(start("second"), None).await.unwrap();
    cost.assert_as_before(alone, "second").await;
}

/// A timer that waits while the code of its instance changes goes where the instance goes.
#[tokio::test]
async fn new_code_moves_the_messages_that_wait() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    let due = timer("a", 2, BEGIN_MS + 60_000);
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let first = turn(provider).await;
    let continuation = continuation("a", "Next", None);
    let ending = commit(&first.lock_token, vec![heard("a", 2)])
        .with_metadata(ended("ContinuedAsNew"))
        .with_messages("a", vec![due, continuation]);
    provider.store_turn(ending).await.unwrap();
    let filter = registered();
    let fetch = || TurnFetch::new(1, LEASE).with_filter(&filter);
    assert!(provider.fetch_orchestration_items(fetch()).await.unwrap().is_empty());
    store.clock.advance(Duration::from_secs(61));
    assert!(provider.fetch_orchestration_items(fetch()).await.unwrap().is_empty());
    assert_eq!(turn(provider).await.item.messages.len(), 2);
}

#[tokio::test]
async fn a_fetch_does_not_read_the_messages_of_a_leased_instance() {
    let store = Store::new().await;
    let provider = &store.provider;
    create(&**provider, "first").await;
    provider.enqueue_for_orchestrator(signal("first", "x"), None).await.unwrap();
    let cost = TurnCost { provider, filter: &FetchFilter::everything() };
    let alone = cost.alone("first").await;
    let turn = turn(&**provider).await;
    provider.store_turn(commit(&turn.lock_token, vec![heard("first", 2)])).await.unwrap();

    create(&**provider, "leased").await;
    provider.enqueue_for_orchestrator(signal("leased", "x"), None).await.unwrap();
    let leased = crate::support::turn(&**provider).await;
    send(provider, (0..BACKLOG).map(|number| signal("leased", &number.to_string()))).await;
    provider.enqueue_for_orchestrator(start("second"), None).await.unwrap();
    cost.assert_as_before(alone, "second").await;

    // The end of the lease makes them fetchable again.
    let committed = provider.store_turn(commit(&leased.lock_token, vec![heard("leased", 2)])).await;
    assert!(committed.unwrap().more_waits);
    let turns = provider.fetch_orchestration_items(wish(2)).await.unwrap();
    assert!(turns.iter().any(|turn| turn.item.instance == "leased"));
}

#[tokio::test]
async fn a_fetch_does_not_read_parked_messages() {
    let store = Store::new().await;
    let provider = &store.provider;
    create(&**provider, "first").await;
    provider.enqueue_for_orchestrator(signal("first", "x"), None).await.unwrap();
    let cost = TurnCost { provider, filter: &FetchFilter::everything() };
    let alone = cost.alone("first").await;
    let turn = turn(&**provider).await;
    provider.store_turn(commit(&turn.lock_token, vec![heard("first", 2)])).await.unwrap();

    send(provider, (0..BACKLOG).map(|number| signal(&instance(number), "x"))).await;
    assert!(try_turn(&**provider).await.is_none());
    provider.enqueue_for_orchestrator(start("second"), None).await.unwrap();
    cost.assert_as_before(alone, "second").await;
}

#[tokio::test]
async fn a_new_pin_moves_the_messages_that_wait() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    // A timer waits while the execution is pinned.
    let due = timer("a", 2, BEGIN_MS + 60_000);
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let first = turn(provider).await;
    let scheduling = commit(&first.lock_token, vec![heard("a", 2)]).with_messages("a", vec![due]);
    provider.store_turn(scheduling).await.unwrap();
    provider.enqueue_for_orchestrator(signal("a", "y"), None).await.unwrap();
    let second = turn(provider).await;
    let mut pinned = named();
    pinned.pinned_duroxide_version = Some("9.0.0".parse().unwrap());
    let pinning = commit(&second.lock_token, vec![heard("a", 3)]).with_metadata(pinned);
    provider.store_turn(pinning).await.unwrap();

    store.clock.advance(Duration::from_secs(61));
    let filter = version_1();
    let fetch = || TurnFetch::new(1, LEASE).with_filter(&filter);
    assert!(provider.fetch_orchestration_items(fetch()).await.unwrap().is_empty());
    assert_eq!(turn(provider).await.item.instance, "a");
}

/// A slot of a worker that runs sessions.
fn slot(owner: &str) -> WorkSlot {
    let lock_timeout = LEASE;
    WorkSlot::new(Some(SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout }))
}

/// The cost of a fetch by a worker that gets only this activity, and releases it again.
async fn cost_of_work(provider: &dyn Provider, expected: u64, enough: Duration) -> Duration {
    let slots = [slot("one"), slot("two"), WorkSlot::new(None)];
    let sample = async || {
        let begin = Instant::now();
        let work = provider.fetch_work_items(WorkFetch::new(&slots, LEASE)).await.unwrap();
        let took = begin.elapsed();
        assert_eq!(work.len(), 1);
        assert!(matches!(work[0].item, WorkItem::ActivityExecute { id, .. } if id == expected));
        provider.abandon_work_item(&work[0].lock_token, None, true).await.unwrap();
        took
    };
    quickest(enough, sample).await
}

async fn send_work(provider: &Arc<SqliteProvider>, items: impl Iterator<Item = WorkItem>) {
    let mut sent = JoinSet::new();
    for item in items {
        let provider = Arc::clone(provider);
        sent.spawn(async move { provider.enqueue_for_worker(item).await.unwrap() });
    }
    sent.join_all().await;
}

fn numbers() -> impl Iterator<Item = u64> {
    1..=BACKLOG as u64
}

fn of_session(id: u64, session: &str) -> WorkItem {
    let mut item = activity("worked", id);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
        *session_id = Some(session.to_owned());
    }
    item
}

/// What a worker with this many slots leases for a long time.
async fn claim_all(provider: &dyn Provider, owner: &str, slots: usize) -> Vec<String> {
    let slots = vec![slot(owner); slots];
    let fetch = WorkFetch::new(&slots, LEASE * 1000);
    let work = provider.fetch_work_items(fetch).await.unwrap();
    work.into_iter().map(|work| work.lock_token).collect()
}

/// The number of the only activity without a session, and the cost to fetch it from an empty queue.
async fn cost_of_plain_work(provider: &Arc<SqliteProvider>) -> (u64, Duration) {
    let plain = BACKLOG as u64 + 1;
    provider.enqueue_for_worker(activity("plain", plain)).await.unwrap();
    let alone = cost_of_work(&**provider, plain, Duration::MAX).await;
    let token = claim_all(&**provider, "other", 1).await.remove(0);
    provider.ack_work_item(&token, None).await.unwrap();
    (plain, alone)
}

#[tokio::test]
async fn a_fetch_does_not_read_the_activities_of_a_foreign_session() {
    let store = Store::new().await;
    let provider = &store.provider;
    let (plain, alone) = cost_of_plain_work(provider).await;
    send_work(provider, numbers().map(|id| of_session(id, "s"))).await;
    assert_eq!(claim_all(&**provider, "other", 1).await.len(), 1);
    provider.enqueue_for_worker(activity("plain", plain)).await.unwrap();
    assert_flat(alone, async |enough| cost_of_work(&**provider, plain, enough).await).await;
    // When the session expires, every worker with sessions can claim it.
    store.clock.advance(LEASE + Duration::from_millis(1));
    let mut claimed = 0;
    loop {
        let some = claim_all(&**provider, "one", 500).await.len();
        claimed += some;
        if some == 0 {
            break;
        }
    }
    assert_eq!(claimed, BACKLOG - 1 + 1, "all but the one that still runs, and the plain one");
}

#[tokio::test]
async fn a_fetch_does_not_read_the_activities_of_many_foreign_sessions() {
    let store = Store::new().await;
    let provider = &store.provider;
    let (plain, alone) = cost_of_plain_work(provider).await;
    send_work(provider, numbers().map(|id| of_session(id, &id.to_string()))).await;
    assert_eq!(claim_all(&**provider, "other", BACKLOG).await.len(), BACKLOG);
    send_work(provider, numbers().map(|id| of_session(2 * id, &id.to_string()))).await;
    provider.enqueue_for_worker(activity("plain", plain)).await.unwrap();
    assert_flat(alone, async |enough| cost_of_work(&**provider, plain, enough).await).await;
}

#[tokio::test]
async fn a_worker_without_sessions_does_not_read_the_activities_of_sessions() {
    let store = Store::new().await;
    let provider = &store.provider;
    let cost = async |enough| {
        let sample = async || {
            let begin = Instant::now();
            let tags = TagFilter::DefaultOnly;
            let work = provider.fetch_work_item(LEASE, NOW, None, &tags).await.unwrap();
            assert!(work.is_none());
            begin.elapsed()
        };
        quickest(enough, sample).await
    };
    let alone = cost(Duration::MAX).await;
    send_work(provider, numbers().map(|id| of_session(id, "s"))).await;
    assert_flat(alone, cost).await;
}

#[tokio::test]
async fn a_fetch_does_not_read_delayed_activities() {
    let store = Store::new().await;
    let provider = &store.provider;
    let (plain, alone) = cost_of_plain_work(provider).await;
    send_work(provider, numbers().map(|id| activity("delayed", id))).await;
    let delay = Duration::from_secs(60);
    for token in claim_all(&**provider, "other", BACKLOG).await {
        provider.abandon_work_item(&token, Some(delay), true).await.unwrap();
    }
    provider.enqueue_for_worker(activity("plain", plain)).await.unwrap();
    assert_flat(alone, async |enough| cost_of_work(&**provider, plain, enough).await).await;
    store.clock.advance(delay * 2);
    let mut claimed = 0;
    loop {
        let some = claim_all(&**provider, "one", 500).await.len();
        claimed += some;
        if some == 0 {
            break;
        }
    }
    assert_eq!(claimed, BACKLOG + 1, "no activity is lost");
}

/// A timer behind another one is listed when that one is consumed. A fetch that waits since before
/// did not know of it, and slept past its time.
#[tokio::test]
async fn a_waiting_fetch_knows_of_a_timer_that_stood_behind_another() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let first = turn(provider).await;
    let timers = vec![timer("a", 3, BEGIN_MS + 10_000), timer("a", 4, BEGIN_MS + 20_000)];
    let scheduling = commit(&first.lock_token, vec![heard("a", 2)]).with_messages("a", timers);
    provider.store_turn(scheduling).await.unwrap();
    store.clock.advance(Duration::from_secs(10));
    let long = TurnFetch::new(1, LEASE * 1000);
    let second = provider.fetch_orchestration_items(long).await.unwrap().pop().unwrap();
    let patient = wish(1).with_poll_timeout(PATIENCE);
    let mut waiting = std::pin::pin!(provider.fetch_orchestration_items(patient));
    let polled = tokio::time::timeout(Duration::from_millis(50), waiting.as_mut()).await;
    assert!(polled.is_err(), "the instance is leased");
    provider.store_turn(commit(&second.lock_token, vec![heard("a", 3)])).await.unwrap();
    store.clock.advance(Duration::from_secs(10));
    assert_eq!(waiting.await.unwrap().len(), 1);
}
