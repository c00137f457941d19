//! A store of copies answers queries as one whose instances were all run.

use std::path::Path;
use std::sync::Arc;

use bench_harness::postgres::schema;
use duroxide::Client;
use duroxide::providers::{InstanceOrder, InstanceQuery, Provider};
use duroxide::query::{Filter, InstanceRow};

use super::cases;
use super::copies::Copies;
use super::population::{self, UNIT, prefix};
use crate::floor::connect_to;
use crate::heavy::Store;

const UNITS: u64 = 3;

/// A row without its times, which differ.
fn timeless(mut row: InstanceRow) -> InstanceRow {
    row.created_at_ms = 0;
    row.updated_at_ms = 0;
    row.ended_at_ms = row.ended_at_ms.map(|_| 0);
    row.duration_ms = 0;
    row
}

async fn rows(client: &Client, filter: &str) -> Vec<InstanceRow> {
    let query = InstanceQuery::new(Filter::parse(filter).unwrap())
        .sorted_by(InstanceOrder::Id)
        .ascending()
        .with_limit(1000);
    let (mut query, mut all) = (query, Vec::new());
    loop {
        let page = client.query_instances(query.clone()).await.unwrap();
        all.extend(page.rows.into_iter().map(timeless));
        let Some(next) = page.next else { return all };
        query = query.with_after(next);
    }
}

/// What each event of an instance says, without times and commits.
async fn events(client: &Client, id: &str) -> Vec<String> {
    let events = client.read_execution_history(id, 1).await.unwrap();
    let text = |event: &duroxide::Event| {
        let mut value = serde_json::to_value(event).unwrap();
        let event = value.as_object_mut().unwrap();
        assert!(event.remove("timestamp_ms").unwrap().as_u64().unwrap() > 0);
        event.remove("last_updated_at_ms");
        value.to_string()
    };
    events.iter().map(text).collect()
}

async fn compare(copied: Arc<dyn Provider>, run: Arc<dyn Provider>) {
    let (copied, run) = (Client::new(copied), Client::new(run));
    assert_eq!(rows(&copied, "").await.len() as u64, UNITS * UNIT);
    for unit in 0..UNITS {
        for case in cases::all(unit) {
            // Copies are older.
            if case.filter.contains("created") || case.filter.contains("duration") {
                continue;
            }
            let found = rows(&copied, &case.filter).await;
            assert_eq!(found, rows(&run, &case.filter).await, "{}", case.filter);
        }
        for root in ["003", "011", "107", "207", "450"] {
            let id = format!("{}{root}", prefix(unit));
            assert_eq!(events(&copied, &id).await, events(&run, &id).await, "{id}");
        }
    }
    // The times of a copy agree with each other.
    let query = InstanceQuery::new(Filter::parse("status:failed").unwrap()).ascending();
    let oldest = copied.query_instances(query).await.unwrap().rows.remove(0);
    assert!(oldest.instance_id.starts_with(&prefix(UNITS - 1)), "{oldest:?}");
    let history = copied.read_execution_history(&oldest.instance_id, 1).await.unwrap();
    let (first, last) = (history[0].timestamp_ms, history[history.len() - 1].timestamp_ms);
    let ended = oldest.ended_at_ms.unwrap();
    assert!(first.abs_diff(oldest.created_at_ms) < 60_000, "{first} {oldest:?}");
    assert!(last.abs_diff(ended) < 60_000 && first <= last, "{last} {oldest:?}");
}

async fn on(store: Store, (copied, run): (&Path, &Path), server: Option<&str>) {
    let first = store.open(copied, server).await.unwrap();
    population::run(&first, 0).await.unwrap();
    first.close().await.unwrap();
    drop(first);
    let copies = Copies { of: 0, units: 1..UNITS };
    copies.make(store, copied, server).await.unwrap();
    let all = store.open(run, server).await.unwrap();
    for unit in 0..UNITS {
        population::run(&all, unit).await.unwrap();
    }
    let copied = store.open(copied, server).await.unwrap();
    compare(Arc::clone(&copied), Arc::clone(&all)).await;
    copied.close().await.unwrap();
    all.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_answer_as_real_instances_do_on_sqlite() {
    let (copied, run) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    on(Store::Sqlite, (copied.path(), run.path()), None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_answer_as_real_instances_do_on_postgres() {
    let server = duroxide_pg_server::shared_url().unwrap();
    let (copied, run) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    on(Store::Postgres, (copied.path(), run.path()), Some(&server)).await;
    for folder in [copied.path(), run.path()] {
        let client = connect_to(&server, "public").await.unwrap();
        let drop = format!("DROP SCHEMA {} CASCADE", schema(folder));
        client.batch_execute(&drop).await.unwrap();
    }
}
