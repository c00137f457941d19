//! A fetch behind work of other nodes costs at most twice a fetch without it.
//!
//! The cost is the number of statements: none of them scans or sorts (`plans.rs`). It does not
//! depend on the machine, so that few foreign items show the shape. `DUROXIDE_FOREIGN` sets another
//! number of them, and then the test prints times as well.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use duroxide_core::providers::{
    FetchFilter, ManualClock, Provider, RegisteredActivities, RegisteredOrchestrations,
    SessionFetchConfig, TagFilter, TurnFetch, WorkFetch, WorkItem, WorkSlot,
};
use duroxide_sqlite::SqliteProvider;
use semver::Version;

use crate::support::*;

const SAMPLES: usize = 50;

fn wanted() -> Option<u64> {
    std::env::var("DUROXIDE_FOREIGN").ok().map(|text| text.parse().expect("a number"))
}

/// A store whose statements are counted.
struct Counted {
    store: Store,
    node: SqliteProvider,
    statements: Arc<AtomicU64>,
}

#[derive(Debug, Clone, Copy)]
struct Cost {
    statements: u64,
    quickest: Duration,
}

impl Counted {
    async fn new() -> Self {
        let store = Store::new().await;
        let statements = Arc::new(AtomicU64::new(0));
        let builder = SqliteProvider::builder(&store.url())
            .with_clock(Arc::<ManualClock>::clone(&store.clock))
            .with_statement_counter(Arc::clone(&statements));
        Self { node: builder.open().await.unwrap(), store, statements }
    }

    /// The least of several fetches of one turn, which is released again.
    async fn cost_of_a_turn(&self, filter: &FetchFilter) -> Cost {
        let mut cost = Cost { statements: u64::MAX, quickest: Duration::MAX };
        for _ in 0..SAMPLES {
            let (before, begin) = (self.statements.load(Ordering::Relaxed), Instant::now());
            let fetch = TurnFetch::new(1, LEASE).with_filter(filter);
            let turns = self.node.fetch_orchestration_items(fetch).await.unwrap();
            cost.add(begin, self.statements.load(Ordering::Relaxed) - before);
            assert_eq!(turns[0].item.instance, "own");
            let token = &turns[0].lock_token;
            self.node.abandon_orchestration_item(token, None, true).await.unwrap();
        }
        cost
    }

    /// The least of several fetches of one activity, which is released again.
    async fn cost_of_work(&self, filter: &FetchFilter, slots: &[WorkSlot]) -> Cost {
        let mut cost = Cost { statements: u64::MAX, quickest: Duration::MAX };
        for _ in 0..SAMPLES {
            let (before, begin) = (self.statements.load(Ordering::Relaxed), Instant::now());
            let fetch = WorkFetch::new(slots, LEASE).with_filter(filter);
            let work = self.node.fetch_work_items(fetch).await.unwrap();
            cost.add(begin, self.statements.load(Ordering::Relaxed) - before);
            assert_eq!(work.len(), 1);
            assert_eq!(work[0].item, own());
            self.node.abandon_work_item(&work[0].lock_token, None, true).await.unwrap();
        }
        cost
    }

    /// Copies what waits as work of code that the node lacks: one half has the same name.
    fn add_foreign(&self, sql: &str) {
        let many = wanted().unwrap_or(400);
        let sql = format!(
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {many}),
             foreign_names (i, name) AS (
                 SELECT i, 'Foreign' || iif(i % 2 = 0, i, '') FROM n)
             {sql}"
        );
        self.store.sql().execute(&sql, []).unwrap();
    }
}

impl Cost {
    fn add(&mut self, begin: Instant, statements: u64) {
        self.quickest = self.quickest.min(begin.elapsed());
        self.statements = self.statements.min(statements);
    }

    #[track_caller]
    fn assert_at_most_twice(self, alone: Self) {
        if wanted().is_some() {
            let times = (alone.quickest, self.quickest);
            println!("{} and {} statements, {times:?}", alone.statements, self.statements);
        }
        assert!(self.statements <= 2 * alone.statements, "{alone:?} alone, {self:?} behind");
    }
}

fn own() -> WorkItem {
    activity("own", 1)
}

#[tokio::test]
async fn a_fetch_of_turns_costs_at_most_twice_as_much_behind_foreign_turns() {
    let counted = Counted::new().await;
    let names = ["Alpha", "Test", "Zeta"].map(|name| (name, Version::new(1, 0, 0)));
    let filter =
        FetchFilter::everything().with_orchestrations(RegisteredOrchestrations::new(names));
    counted.node.enqueue_for_orchestrator(start("own"), None).await.unwrap();
    let alone = counted.cost_of_a_turn(&filter).await;
    counted.add_foreign(
        "INSERT INTO orchestrator_queue
             (instance_id, work_item, visible_at, created_at, start_rank, code, route)
         SELECT 'foreign-' || f.i, q.work_item, 1, 1, q.start_rank,
             f.name || char(1) || '1.0.0' || char(1), f.name || char(1) || '1.0.0' || char(1)
         FROM foreign_names f, orchestrator_queue q WHERE q.instance_id = 'own'",
    );
    counted.cost_of_a_turn(&filter).await.assert_at_most_twice(alone);
}

/// A node that serves these tags, with the activity of `own` and a few others.
fn worker(tags: TagFilter) -> FetchFilter {
    let registered = RegisteredActivities::new(["Alpha", "Work", "Zeta"]);
    FetchFilter::from(&tags).with_activities(registered)
}

const FOREIGN_WORK: &str = "INSERT INTO worker_queue (work_item, created_at, instance_id,
         execution_id, activity_id, tag, code, lane, id)
     SELECT q.work_item, 1, 'foreign', 1, f.i, q.tag, '=' || f.name, 0, -f.i
     FROM foreign_names f, worker_queue q WHERE q.instance_id = 'own'";

#[tokio::test]
async fn a_fetch_of_work_costs_at_most_twice_as_much_behind_foreign_work() {
    let counted = Counted::new().await;
    let slots = vec![WorkSlot::new(None); 8];
    let filter = worker(TagFilter::DefaultOnly);
    counted.node.enqueue_for_worker(own()).await.unwrap();
    let alone = counted.cost_of_work(&filter, &slots).await;
    counted.add_foreign(FOREIGN_WORK);
    counted.cost_of_work(&filter, &slots).await.assert_at_most_twice(alone);
}

/// The owner of a session passes over what it cannot run in that session.
#[tokio::test]
async fn a_session_with_foreign_work_costs_its_owner_at_most_twice_as_much() {
    let counted = Counted::new().await;
    let owner = SessionFetchConfig { owner_id: "me".to_owned(), lock_timeout: LEASE };
    let slots = vec![WorkSlot::new(Some(owner)); 8];
    let filter = worker(TagFilter::DefaultOnly);
    let mut first = activity("first", 2);
    if let WorkItem::ActivityExecute { session_id, .. } = &mut first {
        *session_id = Some("s".to_owned());
    }
    counted.node.enqueue_for_worker(first).await.unwrap();
    let work = counted.node.fetch_work_items(WorkFetch::new(&slots, LEASE)).await.unwrap();
    assert_eq!(work.len(), 1, "the node owns the session");
    counted.node.enqueue_for_worker(own()).await.unwrap();
    let alone = counted.cost_of_work(&filter, &slots).await;
    counted.add_foreign(
        "INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id, activity_id,
             session_id, code, lane, id)
         SELECT q.work_item, 1, 'foreign', 1, f.i, 's', '=' || f.name, 2, -f.i
         FROM foreign_names f, worker_queue q WHERE q.instance_id = 'own'",
    );
    counted.cost_of_work(&filter, &slots).await.assert_at_most_twice(alone);
}

/// However many names wait, a fetch makes no more probes than its node has names under its tags.
#[tokio::test]
async fn a_fetch_probes_no_more_than_its_own_names() {
    let counted = Counted::new().await;
    let names = (0..200).map(|number| format!("Own{number:03}"));
    let registered = RegisteredActivities::new(names.chain(["Work".to_owned()]));
    let tags = TagFilter::default_and(["a", "b"]);
    let filter = FetchFilter::from(&tags).with_activities(registered);
    counted.node.enqueue_for_worker(own()).await.unwrap();
    // Between any two names of the node lies one of another.
    let between = "INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id,
         activity_id, tag, code, lane, id)
         SELECT q.work_item, 1, 'foreign', 1, f.i, t.tag, printf('=Own%03dx', f.i), 0, -f.i
         FROM foreign_names f, worker_queue q,
             (SELECT NULL AS tag, 0 AS n UNION SELECT 'a', 1 UNION SELECT 'b', 2) AS t
         WHERE q.instance_id = 'own' AND f.i % 3 = t.n";
    counted.add_foreign(between);
    let slots = vec![WorkSlot::new(None); 8];
    let cost = counted.cost_of_work(&filter, &slots).await;
    if wanted().is_some() {
        println!("{cost:?}");
    }
    assert!(cost.statements < 700, "{cost:?}");
}

/// Rows of earlier releases have no code. The first fetch that needs it stores it, in parts.
#[tokio::test]
async fn work_without_a_stored_name_gets_it_from_a_fetch() {
    let store = Store::new().await;
    let node = &*store.provider;
    node.enqueue_for_worker(activity("old", 1)).await.unwrap();
    let sql = store.sql();
    let copies = "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 600)
         INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id, activity_id)
         SELECT q.work_item, 1, 'old', 1, n.i FROM n, worker_queue q";
    sql.execute(copies, []).unwrap();
    sql.execute("UPDATE worker_queue SET code = NULL", []).unwrap();
    let long = format!("{{\"ActivityExecute\":{{\"name\":\"{}\"}}}}", "x".repeat(600));
    for (id, text) in [(598, "not json"), (599, "{\"ActivityExecute\":{}}"), (600, &*long)] {
        let change = "UPDATE worker_queue SET work_item = ?2 WHERE activity_id = ?1";
        sql.execute(change, (id, text)).unwrap();
    }
    let none = FetchFilter::everything().with_activities(RegisteredActivities::new(["Other"]));
    let slots = vec![WorkSlot::new(None); 8];
    let fetch = WorkFetch::new(&slots, LEASE).with_filter(&none);
    assert_eq!(node.fetch_work_items(fetch).await.unwrap().len(), 3, "any node may report these");
    assert_eq!(store.count("SELECT count(*) FROM worker_queue WHERE code = '=Work'"), 597);
    let filter = worker(TagFilter::DefaultOnly);
    let fetch = WorkFetch::new(&slots, LEASE).with_filter(&filter);
    assert_eq!(node.fetch_work_items(fetch).await.unwrap().len(), 8);
}
