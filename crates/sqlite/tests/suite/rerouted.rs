//! A change of the code that an instance needs costs the same whatever waits.

use std::time::{Duration, Instant};

use duroxide_core::providers::{Provider, ProviderAdmin};

use crate::backlog::{BACKLOG, assert_flat, continuation, quickest};
use crate::support::*;

/// Messages of one instance that become visible later.
fn add_later_messages(store: &Store, instance: &str, count: usize) {
    let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
         INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, route)
         SELECT ?1, '', 9000000000000000, 1, NULL FROM n";
    store.sql().execute(sql, rusqlite::params![instance, count as i64]).unwrap();
}

/// An instance whose executions continue as new, in their first turn or a second one.
struct Continuing<'a> {
    provider: &'a dyn Provider,
    instance: &'a str,
    turns: usize,
}

impl Continuing<'_> {
    /// The quickest of several executions.
    async fn cost(&self, enough: Duration) -> Duration {
        self.signal().await;
        let mut execution_id = 1;
        let quickest = quickest(enough, async || {
            execution_id += 1;
            self.continue_once(execution_id).await
        })
        .await;
        let last = turn(self.provider).await;
        self.provider.store_turn(commit(&last.lock_token, vec![])).await.unwrap();
        quickest
    }

    async fn continue_once(&self, execution_id: u64) -> Duration {
        let Self { provider, instance, turns } = *self;
        let mut starting = named();
        starting.pinned_duroxide_version = Some("1.0.0".parse().unwrap());
        let mut cost = Duration::ZERO;
        for number in 1..=turns {
            if number > 1 {
                self.signal().await;
            }
            let turn = turn(provider).await;
            assert_eq!(turn.item.instance, instance);
            let events = if number == 1 { vec![started(instance, execution_id)] } else { vec![] };
            let mut commit = commit(&turn.lock_token, events).with_metadata(starting.clone());
            commit.execution_id = execution_id;
            if number == turns {
                commit.metadata.status = Some("ContinuedAsNew".to_owned());
                // Without a version, the next execution needs other code until it has started.
                let next = vec![continuation(instance, "Test", None)];
                commit = commit.with_messages(instance, next);
            }
            let begin = Instant::now();
            provider.store_turn(commit).await.unwrap();
            cost += begin.elapsed();
        }
        cost
    }

    async fn signal(&self) {
        let message = signal(self.instance, "x");
        self.provider.enqueue_for_orchestrator(message, None).await.unwrap();
    }
}

/// Each commit that started or ended an execution used to read all messages of the instance: one
/// with a million held the writer up for some hundred milliseconds whenever it continued as new.
#[tokio::test]
async fn continuing_as_new_does_not_read_the_messages_that_wait() {
    let store = Store::new().await;
    let provider = &*store.provider;
    for turns in [1, 2] {
        let cost = async |waiting, enough| {
            let instance = format!("{waiting} in {turns}");
            create(provider, &instance).await;
            add_later_messages(&store, &instance, waiting);
            Continuing { provider, instance: &instance, turns }.cost(enough).await
        };
        let alone = cost(1, Duration::MAX).await;
        assert_flat(alone, async |enough| cost(25 * BACKLOG, enough).await).await;
    }
}

/// Such a commit then read the ready messages of all instances that run the same code.
#[tokio::test]
async fn continuing_as_new_does_not_read_the_ready_messages_of_others() {
    let store = Store::new().await;
    let provider = &*store.provider;
    let cost = async |instance, enough| {
        create(provider, instance).await;
        // More than the messages that such a commit may read one by one.
        add_later_messages(&store, instance, 2_000);
        Continuing { provider, instance, turns: 2 }.cost(enough).await
    };
    let alone = cost("alone", Duration::MAX).await;
    // The route of an execution, and that of its continuation, which names no version.
    for route in ["Test\u{1}1.0.0\u{1}1.0.0", "Test\u{1}\u{1}1.0.0"] {
        let sql = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
             INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, route)
             SELECT 'other ' || i, '', 9000000000000000, 1, ?1 FROM n";
        let count = 50 * i64::try_from(BACKLOG).unwrap();
        store.sql().execute(sql, rusqlite::params![route, count]).unwrap();
    }
    assert_flat(alone, async |enough| cost("behind", enough).await).await;
}

/// A timer that is listed stands behind messages that came later and are visible before it. It
/// follows its instance to another route, whatever waits.
#[tokio::test]
async fn a_listed_timer_behind_many_messages_moves_with_its_instance() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let first = turn(provider).await;
    let due = vec![timer("a", 2, BEGIN_MS + 60_000)];
    let scheduling = commit(&first.lock_token, vec![heard("a", 2)]).with_messages("a", due);
    provider.store_turn(scheduling).await.unwrap();
    add_later_messages(&store, "a", 2_000);
    store
        .sql()
        .execute("UPDATE orchestrator_queue SET visible_at = 1 WHERE work_item = ''", [])
        .unwrap();
    let listed = || -> Vec<String> {
        let sql = "SELECT route FROM orchestrator_queue WHERE route IS NOT NULL ORDER BY route";
        let conn = store.sql();
        let mut statement = conn.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(listed(), ["Test\u{1}1.0.0\u{1}"]);
    // The others cannot be decoded, and none of them is asked for: the turn is one of an operator.
    let held = provider.hold_instance("a", LEASE).await.unwrap();
    let ending = commit(&held.lock_token, vec![]).with_metadata(ended("Completed"));
    provider.store_turn(ending).await.unwrap();
    assert_eq!(listed(), ["\u{1}\u{1}", "\u{1}\u{1}"], "the timer and the first of the others");
}
