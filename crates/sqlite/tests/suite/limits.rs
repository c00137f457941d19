//! Progress, schedule-to-start limits and the list of workers, where SQLite has code of its own.

use std::time::Duration;

use duroxide_core::providers::{
    OverdueFetch, Provider, ProviderAdmin, ScheduledActivity, TagFilter, WaitingWorkQuery,
};

use crate::support::*;

const LIMIT: Duration = Duration::from_secs(10);

fn overdue(poll_timeout: Duration) -> OverdueFetch {
    OverdueFetch::new(10, LEASE).with_poll_timeout(poll_timeout)
}

/// Commits a turn that schedules activity 2 with a limit.
async fn schedule(store: &Store, lease: Option<Duration>) -> Vec<String> {
    store.provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let turn = turn(&*store.provider).await;
    let limited = ScheduledActivity::new(activity("a", 2)).with_start_limit(LIMIT);
    let limited = lease.into_iter().fold(limited, ScheduledActivity::with_lease);
    let scheduling = commit(&turn.lock_token, vec![started("a", 1)]).with_activities([limited]);
    let committed = store.provider.store_turn(scheduling).await.unwrap();
    committed.leased.into_iter().map(|leased| leased.lock_token).collect()
}

#[tokio::test]
async fn a_lease_by_the_commit_counts_as_the_start_of_an_activity() {
    let store = Store::new().await;
    assert_eq!(schedule(&store, Some(LEASE)).await.len(), 1);
    store.clock.advance(LIMIT + LEASE);
    assert!(store.provider.fetch_overdue_work(overdue(NOW)).await.unwrap().is_empty());
    let again = store.provider.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await.unwrap();
    assert_eq!(again.map(|(_, _, attempts)| attempts), Some(2), "it is redelivered");
}

#[tokio::test]
async fn a_fetch_of_overdue_work_that_is_dropped_leaves_it_overdue() {
    let store = Store::new().await;
    schedule(&store, None).await;
    store.clock.advance(LIMIT);
    for _ in 0..20 {
        // Dropped at its first await, when the writer may have leased the row already.
        let given_up =
            tokio::time::timeout(NOW, store.provider.fetch_overdue_work(overdue(NOW))).await;
        // Nothing is fetchable while the lease before is still being released.
        let found = given_up.map(Result::unwrap).unwrap_or_default();
        for work in found {
            let returned = store.provider.return_unstarted_work_item(&work.lock_token, None, true);
            returned.await.unwrap();
        }
    }
    let found = store.provider.fetch_overdue_work(overdue(Duration::from_secs(5))).await.unwrap();
    assert_eq!(found[0].overdue, Some(LIMIT));
}

#[tokio::test]
async fn an_unreadable_activity_can_be_overdue_and_be_listed() {
    let store = Store::new().await;
    schedule(&store, None).await;
    store.sql().execute("UPDATE worker_queue SET work_item = 'not json'", []).unwrap();
    let listed = async || {
        let query = WaitingWorkQuery::new(None, 10);
        let waiting = store.provider.list_waiting_work(query).await.unwrap();
        (waiting[0].instance_id.clone(), waiting[0].activity_name.clone())
    };
    assert_eq!(listed().await, ("a".to_owned(), "Work".to_owned()), "it is stored beside it");
    // As an older release stores it.
    store.sql().execute("UPDATE worker_queue SET code = NULL", []).unwrap();
    assert_eq!(listed().await, ("a".to_owned(), String::new()));
    store.clock.advance(LIMIT);
    let found = store.provider.fetch_overdue_work(overdue(NOW)).await.unwrap();
    assert_eq!(found[0].overdue, Some(LIMIT));
}

#[tokio::test]
async fn a_damaged_overdue_activity_keeps_no_other_from_being_found() {
    let damages = [
        "work_item = x'ff00'",
        "attempt_count = 1e30",
        "attempt_count = 'many'",
        "session_id = x'ff00'",
        "instance_id = x'ff00'",
        "execution_id = 'first'",
        "progress = x'ff00'",
        "created_at = x'ff00'",
        "created_at = 'early'",
        "start_by = 0.5",
        "start_by = x'ff00'",
        "start_by = 'late'",
        "starting = 'no'",
        "locked_until = x'ff00'",
        "locked_until = 0.5",
    ];
    for damage in damages {
        let store = Store::new().await;
        schedule(&store, None).await;
        let sql = store.sql();
        sql.execute_batch(
            "CREATE TEMP TABLE copy AS SELECT * FROM worker_queue;
             UPDATE copy SET id = id + 1, activity_id = 3;
             INSERT INTO worker_queue SELECT * FROM copy",
        )
        .unwrap();
        let damaging = format!("UPDATE worker_queue SET {damage} WHERE activity_id = 2");
        assert_eq!(sql.execute(&damaging, []).unwrap(), 1);
        store.clock.advance(LIMIT);
        let found = store.provider.fetch_overdue_work(overdue(NOW)).await;
        let found = found.unwrap_or_else(|error| panic!("{damage}: {error}"));
        assert!(!found.is_empty(), "{damage}");
        let leased = "SELECT lock_token IS NOT NULL FROM worker_queue WHERE activity_id = 3";
        assert!(sql.query_row(leased, [], |row| row.get::<_, bool>(0)).unwrap(), "{damage}");
    }
}

/// Tags come from steps in the index, pages from positions.
#[tokio::test]
async fn a_long_queue_is_listed_by_tag_and_page() {
    const ROWS: u32 = 20_000;
    let store = Store::new().await;
    let conn = store.sql();
    conn.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id, activity_id,
             tag)
         SELECT '{\"ActivityExecute\":{\"name\":\"N\"}}', 1, 'i' || i, 1, 2,
             CASE WHEN i % 3 = 0 THEN NULL WHEN i = 7 THEN 'rare' ELSE 'tag' || (i % 3) END FROM n",
        [ROWS],
    )
    .unwrap();
    let tags = store.provider.list_waiting_tags(None, 500).await.unwrap();
    let names: Vec<_> = tags.iter().map(|tag| tag.as_deref().unwrap_or("-")).collect();
    assert_eq!(names, ["-", "rare", "tag1", "tag2"]);
    let mut found = 0;
    for tag in tags {
        let mut query = WaitingWorkQuery::new(tag, 500);
        loop {
            let page = store.provider.list_waiting_work(query.clone()).await.unwrap();
            let Some(last) = page.last() else { break };
            assert!(page.iter().all(|work| work.activity_name == "N" && work.tag == query.tag));
            query.after = Some(last.cursor.clone());
            found += page.len();
        }
    }
    assert_eq!(found, ROWS as usize);
}
