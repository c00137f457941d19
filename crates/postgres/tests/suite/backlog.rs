//! What a node may not claim costs its fetches nothing.
//!
//! Every fetch used to read all ready messages and activities until it found one that it could
//! claim, and a worker that came second found nothing as long as the first held its choice.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide_core::providers::{
    DispatcherCapabilityFilter, FetchFilter, Provider, ProviderAdmin, RegisteredOrchestrations,
    SemverRange, SessionFetchConfig, TagFilter, TurnFetch, WorkFetch, WorkItem, WorkSlot,
};
use duroxide_pg::PostgresProvider;
use semver::Version;
use tokio::task::JoinSet;

use crate::support::*;

/// Large enough for a scan to take many times as long as a probe.
const BACKLOG: u64 = 3_000;
const SAMPLES: usize = 20;
const SAMPLES_MAX: usize = 2_000;
/// A scan of the backlog exceeds this by far; a busy machine does not.
const FACTOR: u32 = 5;

fn instance(number: u64) -> String {
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
async fn quickest(enough: Duration, mut sample: impl AsyncFnMut() -> Duration) -> Duration {
    let mut quickest = Duration::MAX;
    for number in 0..SAMPLES_MAX {
        if number >= SAMPLES && quickest < enough {
            break;
        }
        quickest = quickest.min(sample().await);
    }
    quickest
}

/// The cost to fetch the turn of one instance, which is released again.
struct TurnCost<'a> {
    node: &'a PostgresProvider,
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
            let turn = self.node.fetch_orchestration_items(fetch).await.unwrap().pop();
            let took = begin.elapsed();
            let turn = turn.expect("a turn is ready");
            assert_eq!(turn.item.instance, expected);
            self.node.abandon_orchestration_item(&turn.lock_token, None, true).await.unwrap();
            took
        };
        quickest(enough, sample).await
    }
}

/// Measures again, and asserts that it costs about as much as before.
async fn assert_flat(alone: Duration, measure: impl AsyncFnOnce(Duration) -> Duration) {
    let behind = measure(alone * FACTOR).await;
    assert!(behind < alone * FACTOR, "{alone:?} without a backlog, {behind:?} behind one");
}

async fn send(node: &Arc<PostgresProvider>, items: impl Iterator<Item = WorkItem>) {
    let mut sent = JoinSet::new();
    for item in items {
        let node = Arc::clone(node);
        sent.spawn(async move { node.enqueue_for_orchestrator(item, None).await.unwrap() });
    }
    sent.join_all().await;
}

async fn send_work(node: &Arc<PostgresProvider>, items: impl Iterator<Item = WorkItem>) {
    let mut sent = JoinSet::new();
    for item in items {
        let node = Arc::clone(node);
        sent.spawn(async move { node.enqueue_for_worker(item).await.unwrap() });
    }
    sent.join_all().await;
}

/// Stores instances that version 9 started.
async fn create_foreign(store: &Store) {
    let sql = format!(
        "INSERT INTO $.instances (instance_id, orchestration_name, orchestration_version,
             current_execution_id, created_at, updated_at, incarnation)
         SELECT 'foreign-' || g, 'Test', '1.0.0', 1, 1, 1, 1 FROM generate_series(1, {BACKLOG}) g;
         INSERT INTO $.executions (instance_id, execution_id, status, started_at,
             duroxide_version, duroxide_version_key)
         SELECT i.instance_id, 1, 'Running', 1, e.duroxide_version, e.duroxide_version_key
         FROM $.instances i, $.executions e
         WHERE e.instance_id = 'nine' AND i.instance_id LIKE 'foreign-%';"
    );
    store.sql().await.run(&sql).await;
}

/// Creates an instance that version 9 started.
async fn create_pinned(node: &PostgresProvider, instance: &str) {
    let mut pinned = named();
    pinned.pinned_duroxide_version = Some("9.0.0".parse().unwrap());
    node.enqueue_for_orchestrator(start(instance), None).await.unwrap();
    let turn = turn(node).await;
    let commit = commit(&turn.lock_token, vec![started(instance)]).with_metadata(pinned);
    node.store_turn(commit).await.unwrap();
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
    let store = Store::new();
    let node = store.node().await;
    let filter = registered();
    node.enqueue_for_orchestrator(start("first"), None).await.unwrap();
    let cost = TurnCost { node: &node, filter: &filter };
    let alone = cost.alone("first").await;
    let first = turn(&*node).await;
    node.store_turn(commit(&first.lock_token, vec![started("first")])).await.unwrap();
    // As many of one name as of different ones, which lie between those of the node.
    send(&node, (0..BACKLOG).map(|number| start_of(&instance(number), "Foreign".to_owned()))).await;
    let named = |number| start_of(&instance(BACKLOG + number), format!("Foreign{number}"));
    send(&node, (0..BACKLOG).map(named)).await;
    node.enqueue_for_orchestrator(start("second"), None).await.unwrap();
    cost.assert_as_before(alone, "second").await;
}

#[tokio::test]
async fn a_fetch_does_not_read_instances_pinned_to_other_versions() {
    let store = Store::new();
    let node = store.node().await;
    let filter = version_1();
    create_pinned(&node, "nine").await;
    create_foreign(&store).await;
    node.enqueue_for_orchestrator(start("mine"), None).await.unwrap();
    let cost = TurnCost { node: &node, filter: &filter };
    let alone = cost.alone("mine").await;
    let first = turn(&*node).await;
    node.store_turn(commit(&first.lock_token, vec![started("mine")])).await.unwrap();

    send(&node, (1..=BACKLOG).map(|number| signal(&instance(number), "x"))).await;
    node.enqueue_for_orchestrator(signal("mine", "y"), None).await.unwrap();
    store.advance(Duration::from_secs(1));
    cost.assert_as_before(alone, "mine").await;

    // Messages that came before their pin was known cost as much only once.
    store.sql().await.run(r"UPDATE $.orchestrator_queue SET pin = '\x'").await;
    cost.assert_as_before(alone, "mine").await;
    let kept = store.count(r"SELECT count(*) FROM $.orchestrator_queue WHERE pin = '\x'").await;
    assert!(kept <= 1, "{kept} messages are not sorted");
    let fetched = node.fetch_orchestration_items(wish(8)).await.unwrap();
    assert_eq!(fetched.len(), 8, "a node that can replay them gets them");
}

#[tokio::test]
async fn a_fetch_does_not_read_the_messages_of_a_leased_instance() {
    let store = Store::new();
    let node = store.node().await;
    let everything = FetchFilter::everything();
    create(&*node, "leased").await;
    create(&*node, "mine").await;
    node.enqueue_for_orchestrator(signal("leased", "x"), None).await.unwrap();
    let long = TurnFetch::new(1, LEASE * 1000);
    let leased = node.fetch_orchestration_items(long).await.unwrap().pop().unwrap();
    node.enqueue_for_orchestrator(signal("mine", "x"), None).await.unwrap();
    let cost = TurnCost { node: &node, filter: &everything };
    let alone = cost.alone("mine").await;
    let first = turn(&*node).await;
    node.store_turn(commit(&first.lock_token, vec![heard("mine", 2)])).await.unwrap();

    send(&node, (1..=BACKLOG).map(|number| signal("leased", &number.to_string()))).await;
    node.enqueue_for_orchestrator(signal("mine", "y"), None).await.unwrap();
    store.advance(Duration::from_secs(1));
    cost.assert_as_before(alone, "mine").await;

    // Turn by turn every message is delivered.
    let events = vec![heard("leased", 2)];
    let committed = node.store_turn(commit(&leased.lock_token, events)).await.unwrap();
    assert!(committed.more_waits);
    let (mut delivered, mut event_id) = (0, 3);
    while delivered < BACKLOG {
        let turn = turn(&*node).await;
        if turn.item.instance == "leased" {
            delivered += turn.item.messages.len() as u64;
        }
        let events = vec![heard(&turn.item.instance, event_id)];
        node.store_turn(commit(&turn.lock_token, events)).await.unwrap();
        event_id += 1;
    }
    let left = "SELECT count(*) FROM $.orchestrator_queue WHERE instance_id = 'leased'";
    assert_eq!(store.count(left).await, 0);
}

/// A message that arrives while the turn before it is committed must not be left behind.
#[tokio::test]
async fn a_message_that_stands_behind_others_is_listed_when_they_are_consumed() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    send(&node, (0..40).map(|number| signal("a", &number.to_string()))).await;
    let turn = turn(&*node).await;
    let sql = store.sql().await;
    let pin = sql.function("message_pin").await;
    // Another transaction adds a message and has not committed yet.
    sql.run(&format!(
        "BEGIN;
         INSERT INTO $.orchestrator_queue
             (instance_id, work_item, visible_at, created_at, kind, pin)
         SELECT 'a', work_item, visible_at, created_at, kind, $.{pin}({BEGIN_MS}, 'a')
         FROM $.orchestrator_queue ORDER BY id LIMIT 1"
    ))
    .await;
    let committing = {
        let node = Arc::clone(&node);
        let commit = commit(&turn.lock_token, vec![heard("a", 2)]);
        tokio::spawn(async move { node.store_turn(commit).await.unwrap() })
    };
    let other = store.sql().await;
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'
         AND pid IN (SELECT pid FROM pg_stat_activity WHERE query LIKE '%commit_turns%')";
    while other.count(waiting).await == 0 && !committing.is_finished() {
        tokio::task::yield_now().await;
    }
    sql.run("COMMIT").await;
    assert!(committing.await.unwrap().more_waits);
    assert_eq!(crate::support::turn(&*node).await.item.messages.len(), 1);
}

fn slot(owner: &str) -> WorkSlot {
    let lock_timeout = LEASE;
    WorkSlot::new(Some(SessionFetchConfig { owner_id: owner.to_owned(), lock_timeout }))
}

fn of_session(id: u64, session: &str) -> WorkItem {
    let mut item = activity("worked", id);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut item {
        *session_id = Some(session.to_owned());
    }
    item
}

/// The cost of a fetch that finds only one activity, which is released again.
async fn cost_of_work(node: &PostgresProvider, enough: Duration) -> Duration {
    let slots = [slot("one"), slot("two"), WorkSlot::new(None)];
    let sample = async || {
        let begin = Instant::now();
        let work = node.fetch_work_items(WorkFetch::new(&slots, LEASE)).await.unwrap();
        let took = begin.elapsed();
        assert_eq!(work.len(), 1);
        node.abandon_work_item(&work[0].lock_token, None, true).await.unwrap();
        took
    };
    quickest(enough, sample).await
}

async fn assert_work_costs_as_before(node: &PostgresProvider, alone: Duration) {
    assert_flat(alone, async |enough| cost_of_work(node, enough).await).await;
}

#[tokio::test]
async fn a_fetch_does_not_read_the_activities_of_foreign_sessions() {
    let store = Store::new();
    let node = store.node().await;
    node.enqueue_for_worker(activity("plain", 9_998)).await.unwrap();
    let alone = cost_of_work(&node, Duration::MAX).await;
    let first = node.fetch_work_items(WorkFetch::new(&[slot("one")], LEASE)).await.unwrap();
    node.ack_work_item(&first[0].lock_token, None).await.unwrap();
    let other = vec![slot("other"); 500];
    let long = || WorkFetch::new(&other, LEASE * 1000);
    // One session with many activities, and many with one.
    send_work(&node, (1..=499).map(|id| of_session(BACKLOG + id, &format!("s{id}")))).await;
    send_work(&node, (1..=BACKLOG).map(|id| of_session(id, "s"))).await;
    assert_eq!(node.fetch_work_items(long()).await.unwrap().len(), 500);
    node.enqueue_for_worker(activity("plain", 9_999)).await.unwrap();
    assert_work_costs_as_before(&node, alone).await;
}

#[tokio::test]
async fn activities_of_an_expired_session_are_for_every_worker() {
    let store = Store::new();
    let node = store.node().await;
    send_work(&node, (1..=1_200).map(|id| of_session(id, "s"))).await;
    let (one, other) = ([slot("one")], vec![slot("other"); 400]);
    assert_eq!(node.fetch_work_items(WorkFetch::new(&one, LEASE * 9)).await.unwrap().len(), 1);
    for _ in 0..3 {
        let fetch = WorkFetch::new(&other, LEASE * 9);
        assert!(node.fetch_work_items(fetch).await.unwrap().is_empty());
    }
    store.advance(LEASE + Duration::from_millis(1));
    let mut claimed = 0;
    loop {
        let work = node.fetch_work_items(WorkFetch::new(&other, LEASE * 9)).await.unwrap();
        claimed += work.len();
        if work.is_empty() {
            break;
        }
    }
    assert_eq!(claimed, 1_199, "all but the one that still runs");
}

#[tokio::test]
async fn a_fetch_does_not_read_delayed_activities() {
    let store = Store::new();
    let node = store.node().await;
    node.enqueue_for_worker(activity("plain", 1)).await.unwrap();
    let alone = cost_of_work(&node, Duration::MAX).await;
    let delayed = format!(
        "INSERT INTO $.worker_queue (work_item, created_at, visible_at, instance_id, execution_id,
             activity_id, route, lane)
         SELECT q.work_item, 1, {BEGIN_MS} + 60000, 'delayed', 1, g, '', 2
         FROM $.worker_queue q, generate_series(1, {BACKLOG}) g"
    );
    store.sql().await.run(&delayed).await;
    node.enqueue_for_worker(activity("plain", 2)).await.unwrap();
    let first = node.fetch_work_items(WorkFetch::new(&[slot("one")], LEASE)).await.unwrap();
    node.ack_work_item(&first[0].lock_token, None).await.unwrap();
    assert_work_costs_as_before(&node, alone).await;
    store.advance(Duration::from_secs(61));
    let many = vec![slot("one"); 600];
    let mut claimed = 0;
    loop {
        let work = node.fetch_work_items(WorkFetch::new(&many, LEASE)).await.unwrap();
        claimed += work.len() as u64;
        if work.is_empty() {
            break;
        }
    }
    assert_eq!(claimed, BACKLOG + 1, "no activity is lost");
}

/// Another worker holds its choice while this one chooses.
async fn finds_others(items: impl Iterator<Item = WorkItem>, slots: &[WorkSlot], tags: TagFilter) {
    let store = Store::new();
    let node = store.node().await;
    send_work(&node, items).await;
    let sql = store.sql().await;
    sql.run("BEGIN; SELECT id FROM $.worker_queue ORDER BY id LIMIT 40 FOR UPDATE").await;
    let filter = FetchFilter::everything().with_tags(tags);
    let fetch = WorkFetch::new(slots, LEASE).with_filter(&filter);
    let work = node.fetch_work_items(fetch).await.unwrap();
    assert_eq!(work.len(), slots.len());
    sql.run("ROLLBACK").await;
}

#[tokio::test]
async fn two_workers_of_several_tags_do_not_choose_the_same_activities() {
    let items = (1..=100).map(|id| tagged("a", id, Some(if id % 2 == 0 { "x" } else { "y" })));
    let tags = TagFilter::tags(["x", "y"]);
    finds_others(items, &vec![WorkSlot::new(None); 8], tags).await;
}

#[tokio::test]
async fn two_workers_do_not_choose_the_same_activities_if_one_has_a_session() {
    let items = (1..=100).map(|id| if id == 50 { of_session(id, "s") } else { activity("a", id) });
    finds_others(items, &vec![slot("one"); 8], TagFilter::DefaultOnly).await;
}

/// A commit that ended an execution used to read all messages of its instance: one with a million
/// of them that continues as new after each hundred read them ten thousand times. Then it read the
/// ready messages of all instances that run the same code.
#[tokio::test]
async fn the_end_of_an_execution_reads_only_what_is_listed_of_its_instance() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    let sql = store.sql().await;
    let route = format!("{}('Test', '1.0.0')", sql.function("$.code_key").await);
    // The first is listed as ready, and so is one far behind, which came while no other was.
    sql.run(&format!(
        "INSERT INTO $.orchestrator_queue
             (instance_id, work_item, visible_at, created_at, kind, pin)
         SELECT 'a', '', 1, 1, 2, CASE WHEN g IN (1, 7000) THEN {route} END
         FROM generate_series(1, 10 * {BACKLOG}) g
         UNION ALL
         SELECT 'other-' || g, '', 1, 1, 2, {route} FROM generate_series(1, 10 * {BACKLOG}) g;
         ANALYZE $.orchestrator_queue;
         BEGIN; SELECT {}(ARRAY['a'])",
        sql.function("$.forget_routes").await
    ))
    .await;
    let read = "SELECT idx_tup_fetch FROM pg_stat_xact_user_tables
         WHERE schemaname = '$' AND relname = 'orchestrator_queue'";
    assert!(sql.count(read).await < 5000, "{}", sql.count(read).await);
    sql.run("COMMIT").await;
    let listed = "SELECT count(*) FROM $.orchestrator_queue WHERE instance_id = 'a' AND pin";
    assert_eq!(sql.count(&format!("{listed} < '\\x01'")).await, 2);
    assert_eq!(sql.count(&format!("{listed} >= '\\x01'")).await, 0);
}

/// Messages that are listed far behind the first ones of their instance follow it to other code.
#[tokio::test]
async fn messages_listed_far_behind_others_leave_the_route_of_their_instance() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "a").await;
    let sql = store.sql().await;
    // None of the first can be locked, as while a commit consumes them.
    sql.run(
        "INSERT INTO $.orchestrator_queue
             (instance_id, work_item, visible_at, created_at, kind, far, pin)
         SELECT 'a', '', 9000000000000000, 1, 2, FALSE, NULL FROM generate_series(1, 2000)",
    )
    .await;
    send(&node, (0..3).map(|number| signal("a", &number.to_string()))).await;
    let instance = "a".to_owned();
    let next =
        WorkItem::TimerFired { instance, execution_id: 1, id: 2, fire_at_ms: BEGIN_MS + 60_000 };
    node.enqueue_for_orchestrator(next, None).await.unwrap();
    // A node that lacks the code finds out their route.
    let names = [("Other", Version::new(1, 0, 0))];
    let other = FetchFilter::everything().with_orchestrations(RegisteredOrchestrations::new(names));
    store.advance(Duration::from_secs(61));
    let fetched = node.fetch_orchestration_items(wish(1).with_filter(&other)).await.unwrap();
    assert!(fetched.is_empty());
    let listed = "SELECT count(*) FROM $.orchestrator_queue WHERE instance_id = 'a' AND pin";
    let under_a_route = format!("{listed} >= '\\x01'");
    assert!(sql.count(&under_a_route).await > 0);
    let forget = sql.function("$.forget_routes").await;
    sql.run(&format!("SELECT {forget}(ARRAY['a'])")).await;
    assert_eq!(sql.count(&under_a_route).await, 0);
}

/// Every message that came to a suspended instance cost each fetch a probe, until it was resumed.
#[tokio::test]
async fn a_fetch_does_not_read_the_messages_of_suspended_instances() {
    let store = Store::new();
    let node = store.node().await;
    create(&*node, "first").await;
    node.enqueue_for_orchestrator(signal("first", "alone"), None).await.unwrap();
    let everything = FetchFilter::everything();
    let cost = TurnCost { node: &node, filter: &everything };
    let alone = cost.alone("first").await;
    let first = turn(&*node).await;
    node.store_turn(commit(&first.lock_token, vec![heard("first", 2)])).await.unwrap();
    let sql = store.sql().await;
    sql.run(&format!(
        "INSERT INTO $.instances (instance_id, orchestration_name, orchestration_version,
             current_execution_id, created_at, updated_at, incarnation, suspended_since,
             suspended_by, suspended_reason)
         SELECT 'suspended-' || g, 'Test', '1.0.0', 1, 1, 1, 1, 1, 'operator', ''
         FROM generate_series(1, {BACKLOG}) g;
         INSERT INTO $.executions (instance_id, execution_id, status, started_at)
         SELECT 'suspended-' || g, 1, 'Running', 1 FROM generate_series(1, {BACKLOG}) g;
         INSERT INTO $.instance_locks (instance_id, lock_token, locked_until, message_ids)
         SELECT 'suspended-' || g, gen_random_uuid(), 9223372036854775807, '{{}}'
         FROM generate_series(1, {BACKLOG}) g"
    ))
    .await;
    send(&node, (1..=BACKLOG).map(|it| signal(&format!("suspended-{it}"), "x"))).await;
    node.enqueue_for_orchestrator(signal("first", "x"), None).await.unwrap();
    let listed = "SELECT count(*) FROM $.orchestrator_queue
         WHERE pin IS NOT NULL AND instance_id LIKE 'suspended-%'";
    let mut fetches = 0;
    while store.count(listed).await > 0 {
        for turn in node.fetch_orchestration_items(wish(1)).await.unwrap() {
            node.abandon_orchestration_item(&turn.lock_token, None, true).await.unwrap();
        }
        fetches += 1;
        assert!(fetches <= 2 * BACKLOG / 1024 + 2, "they leave the list");
    }
    cost.assert_as_before(alone, "first").await;
    // The end of a suspension makes them fetchable again.
    assert!(node.resume_instance("suspended-7").await.unwrap());
    let turns = node.fetch_orchestration_items(wish(2)).await.unwrap();
    assert!(turns.iter().any(|turn| turn.item.instance == "suspended-7"));
}
