//! A fetch behind work of other nodes costs at most twice a fetch without it.
//!
//! The cost is the number of pages that the server reads. Transactions of other tests would keep
//! old rows alive, which count as well, so that each test has a server of its own.
//! `DUROXIDE_FOREIGN` sets the number of foreign items; then the tests print times as well.

use std::time::{Duration, Instant};

use duroxide_core::providers::{
    FetchFilter, Provider, RegisteredActivities, RegisteredOrchestrations, SessionFetchConfig,
    TagFilter, TurnFetch, WorkFetch, WorkItem, WorkSlot,
};
use duroxide_pg::PostgresProvider;
use duroxide_pg_server::{Server, Setup};
use semver::Version;

use crate::support::*;

const SAMPLES: usize = 50;

/// A store on a server that nothing else uses. The server runs until it is dropped.
fn alone() -> (Server, Store) {
    let settings = vec!["autovacuum=off".to_owned()];
    let server = Server::start(&Setup { settings, ..Setup::default() }).unwrap();
    let store = Store::at(&server.url());
    (server, store)
}

fn wanted() -> Option<u64> {
    std::env::var("DUROXIDE_FOREIGN").ok().map(|text| text.parse().expect("a number"))
}

/// What a fetch costs.
#[derive(Debug, Clone, Copy)]
struct Cost {
    pages: u64,
    quickest: Duration,
}

impl Cost {
    #[track_caller]
    fn assert_at_most_twice(self, alone: Self) {
        if wanted().is_some() {
            let times = (alone.quickest, self.quickest);
            println!("{} and {} pages, {times:?}", alone.pages, self.pages);
        }
        assert!(self.pages <= 2 * alone.pages, "{alone:?} alone, {self:?} behind");
    }
}

/// The pages that a call reads. What it changes is rolled back.
async fn pages(store: &Store, function: &str, given: &[(&str, String)]) -> u64 {
    let sql = store.sql().await;
    let function = sql.function(function).await;
    let names = format!(
        "SELECT string_agg(a.name || ' ' || format_type(a.type, NULL), ',' ORDER BY a.place)
         FROM pg_proc p, unnest(
                 p.proargnames[1:p.pronargs], string_to_array(p.proargtypes::TEXT, ' ')::OID[]
             ) WITH ORDINALITY AS a (name, type, place)
         WHERE p.proname = '{function}' AND p.pronamespace = '$'::REGNAMESPACE"
    );
    let mut arguments = Vec::new();
    for argument in sql.text(&names).await.split(',') {
        let (name, kind) = argument.split_once(' ').unwrap();
        let value = given.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str());
        let other = if kind.ends_with("[]") { "'{}'" } else { "NULL" };
        arguments.push(format!("{name} => {}::{kind}", value.unwrap_or(other)));
    }
    let call = format!(
        "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) SELECT * FROM $.{function}({})",
        arguments.join(", ")
    );
    let mut least = u64::MAX;
    // The first calls read the catalogue.
    for _ in 0..4 {
        sql.run("BEGIN").await;
        let plan = sql.lines(&call).await;
        sql.run("ROLLBACK").await;
        let (_, hit) = plan.split_once("shared hit=").unwrap_or_else(|| panic!("{plan}"));
        let digits = hit.split(|c: char| !c.is_ascii_digit()).next().unwrap();
        least = least.min(digits.parse().unwrap());
    }
    least
}

fn texts(values: impl IntoIterator<Item = String>) -> String {
    let quoted: Vec<_> = values.into_iter().map(|value| format!("'{value}'")).collect();
    format!("ARRAY[{}]", quoted.join(", "))
}

async fn cost_of_a_turn(store: &Store, node: &PostgresProvider, filter: &FetchFilter) -> Cost {
    let mut quickest = Duration::MAX;
    for _ in 0..SAMPLES {
        let begin = Instant::now();
        let fetch = TurnFetch::new(1, LEASE).with_filter(filter);
        let turns = node.fetch_orchestration_items(fetch).await.unwrap();
        quickest = quickest.min(begin.elapsed());
        assert_eq!(turns[0].item.instance, "own");
        node.abandon_orchestration_item(&turns[0].lock_token, None, true).await.unwrap();
    }
    let hex =
        |key: &String| key.bytes().fold("\\x".to_owned(), |hex, byte| format!("{hex}{byte:02x}"));
    let keys = filter.orchestrations.as_ref().unwrap().keys().iter().map(hex);
    let number = |number: u64| number.to_string();
    let given = [
        ("p_now", number(BEGIN_MS)),
        ("p_turns_max", number(1)),
        ("p_lock_for", number(5_000)),
        ("p_from", "NULL".to_owned()),
        ("p_to", "NULL".to_owned()),
        ("p_code", texts(keys)),
        ("p_node", number(1)),
        ("p_grace", number(0)),
        ("p_messages_max", number(100)),
        ("p_bytes_max", number(1 << 20)),
        ("p_alone_bytes", number(1 << 20)),
        ("p_fetch_bytes_max", number(1 << 20)),
        ("p_inline_events_max", number(100)),
        ("p_inline_bytes_max", number(1 << 20)),
        ("p_asks", "FALSE".to_owned()),
        ("p_free", "NULL".to_owned()),
    ];
    Cost { pages: pages(store, "fetch_turns", &given).await, quickest }
}

async fn cost_of_work(
    store: &Store,
    node: &PostgresProvider,
    filter: &FetchFilter,
    slots: &[WorkSlot],
) -> Cost {
    let mut quickest = Duration::MAX;
    for _ in 0..SAMPLES {
        let begin = Instant::now();
        let fetch = WorkFetch::new(slots, LEASE).with_filter(filter);
        let work = node.fetch_work_items(fetch).await.unwrap();
        quickest = quickest.min(begin.elapsed());
        assert_eq!(work.len(), 1);
        assert_eq!(work[0].item, own());
        node.abandon_work_item(&work[0].lock_token, None, true).await.unwrap();
    }
    let owner = |slot: &WorkSlot| match &slot.session {
        Some(session) => format!("'{}'", session.owner_id),
        None => "NULL".to_owned(),
    };
    let owners: Vec<_> = slots.iter().map(owner).collect();
    let keys = filter.activities.as_ref().unwrap().keys().iter().cloned();
    let given = [
        ("p_now", BEGIN_MS.to_string()),
        ("p_lock_for", "5000".to_owned()),
        ("p_routes", "ARRAY['']".to_owned()),
        ("p_code", texts(keys)),
        ("s_owner", format!("ARRAY[{}]", owners.join(", "))),
        ("s_lock_for", format!("array_fill(5000, ARRAY[{}])", slots.len())),
        ("p_asks", "FALSE".to_owned()),
        ("p_free", "NULL".to_owned()),
    ];
    Cost { pages: pages(store, "fetch_work", &given).await, quickest }
}

/// Adds work of code that the node lacks, from `foreign_names`; one half has the same name.
async fn add_foreign(store: &Store, sql: &str) {
    let many = wanted().unwrap_or(400);
    let sql = format!(
        "WITH foreign_names (i, name) AS (
             SELECT i, 'Foreign' || CASE WHEN i % 2 = 0 THEN i::TEXT ELSE '' END
             FROM generate_series(1, {many}) AS i)
         {sql};
         ANALYZE $.orchestrator_queue; ANALYZE $.worker_queue"
    );
    store.sql().await.run(&sql).await;
}

fn own() -> WorkItem {
    activity("own", 1)
}

#[tokio::test]
async fn a_fetch_of_turns_costs_at_most_twice_as_much_behind_foreign_turns() {
    let (_server, store) = alone();
    let node = store.node().await;
    let names = ["Alpha", "Test", "Zeta"].map(|name| (name, Version::new(1, 0, 0)));
    let filter =
        FetchFilter::everything().with_orchestrations(RegisteredOrchestrations::new(names));
    node.enqueue_for_orchestrator(start("own"), None).await.unwrap();
    let alone = cost_of_a_turn(&store, &node, &filter).await;
    add_foreign(
        &store,
        r"INSERT INTO $.orchestrator_queue
             (instance_id, work_item, visible_at, created_at, kind, code, pin)
         SELECT 'foreign-' || f.i, q.work_item, 1, 1, q.kind, k.code, k.code
         FROM $.orchestrator_queue q, foreign_names f
         CROSS JOIN LATERAL (
             SELECT f.name::BYTEA || '\x01312e302e3001'::BYTEA AS code) AS k
         WHERE q.instance_id = 'own'",
    )
    .await;
    cost_of_a_turn(&store, &node, &filter).await.assert_at_most_twice(alone);
}

/// A node with the activity of `own` and a few others.
fn worker() -> FetchFilter {
    let registered = RegisteredActivities::new(["Alpha", "Work", "Zeta"]);
    FetchFilter::from(&TagFilter::DefaultOnly).with_activities(registered)
}

#[tokio::test]
async fn a_fetch_of_work_costs_at_most_twice_as_much_behind_foreign_work() {
    let (_server, store) = alone();
    let node = store.node().await;
    let slots = vec![WorkSlot::new(None); 8];
    node.enqueue_for_worker(own()).await.unwrap();
    let alone = cost_of_work(&store, &node, &worker(), &slots).await;
    add_foreign(
        &store,
        "INSERT INTO $.worker_queue (work_item, created_at, instance_id, execution_id, activity_id,
             route, code, id) OVERRIDING SYSTEM VALUE
         SELECT q.work_item, 1, 'foreign', 1, f.i, '', '=' || f.name, -f.i
         FROM $.worker_queue q, foreign_names f",
    )
    .await;
    cost_of_work(&store, &node, &worker(), &slots).await.assert_at_most_twice(alone);
}

/// The owner of a session passes over what it cannot run in that session.
#[tokio::test]
async fn a_session_with_foreign_work_costs_its_owner_at_most_twice_as_much() {
    let (_server, store) = alone();
    let node = store.node().await;
    let owner = SessionFetchConfig { owner_id: "me".to_owned(), lock_timeout: LEASE };
    let slots = vec![WorkSlot::new(Some(owner)); 8];
    let mut first = activity("first", 2);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut first {
        *session_id = Some("s".to_owned());
    }
    node.enqueue_for_worker(first).await.unwrap();
    let work = node.fetch_work_items(WorkFetch::new(&slots, LEASE)).await.unwrap();
    assert_eq!(work.len(), 1, "the node owns the session");
    node.enqueue_for_worker(own()).await.unwrap();
    let alone = cost_of_work(&store, &node, &worker(), &slots).await;
    add_foreign(
        &store,
        "INSERT INTO $.worker_queue (work_item, created_at, instance_id, execution_id, activity_id,
             session_id, route, code, lane, id) OVERRIDING SYSTEM VALUE
         SELECT q.work_item, 1, 'foreign', 1, f.i, 's', '', '=' || f.name, 2, -f.i
         FROM $.worker_queue q, foreign_names f WHERE q.instance_id = 'own'",
    )
    .await;
    cost_of_work(&store, &node, &worker(), &slots).await.assert_at_most_twice(alone);
}

/// Rows of earlier releases have no code. The first fetch that needs it stores it, in parts.
#[tokio::test]
async fn work_without_a_stored_name_gets_it_from_a_fetch() {
    let (_server, store) = alone();
    let node = store.node().await;
    node.enqueue_for_worker(activity("old", 1)).await.unwrap();
    let sql = store.sql().await;
    sql.run(
        r#"INSERT INTO $.worker_queue (work_item, created_at, instance_id, execution_id,
             activity_id, route)
         SELECT q.work_item, 1, 'old', 1, i, '' FROM $.worker_queue q, generate_series(2, 600) AS i;
         UPDATE $.worker_queue SET code = NULL;
         UPDATE $.worker_queue SET work_item = 'not json' WHERE activity_id = 597;
         UPDATE $.worker_queue SET work_item = '{"ActivityExecute":{}}' WHERE activity_id = 598;
         UPDATE $.worker_queue SET work_item = '{"ActivityExecute":{"name":"a\u0000b"}}'
         WHERE activity_id = 599;
         UPDATE $.worker_queue SET work_item =
             '{"ActivityExecute":{"name":"' || repeat('x', 600) || '"}}' WHERE activity_id = 600"#,
    )
    .await;
    let none = FetchFilter::everything().with_activities(RegisteredActivities::new(["Other"]));
    let slots = vec![WorkSlot::new(None); 8];
    let fetch = WorkFetch::new(&slots, LEASE).with_filter(&none);
    assert_eq!(node.fetch_work_items(fetch).await.unwrap().len(), 4, "any node may report these");
    let settled = "SELECT count(*) FROM $.worker_queue WHERE code = '=Work'";
    assert_eq!(sql.count(settled).await, 596);
    let filter = worker();
    let fetch = WorkFetch::new(&slots, LEASE).with_filter(&filter);
    assert_eq!(node.fetch_work_items(fetch).await.unwrap().len(), 8);
}
