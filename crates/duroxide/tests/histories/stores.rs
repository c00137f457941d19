//! Every store: what a node records there, the checker reads and agrees with.

use std::sync::Arc;

use duroxide::check::{Checker, Verdict};
use duroxide::histories::{HistorySelection, HistoryWriter, export_histories};
use duroxide::providers::Provider;
use duroxide::runtime::OrchestrationRegistry;

use crate::code::orchestrations;
use crate::driver::run_all;

/// Children, sessions, tags, keys, cancellations, continue-as-new: all of it.
async fn everything_that_a_node_records_agrees(store: Arc<dyn Provider>) {
    run_all(Arc::clone(&store)).await;
    duroxide::assert_compatible!(orchestrations(), store: store);
    let checker = Checker::new(orchestrations()).with_finished(true);
    let stored = checker.check_store(store.as_ref()).await.unwrap();
    stored.assert_compatible();

    let folder = tempfile::tempdir().unwrap();
    let file = std::fs::File::create(folder.path().join("all.jsonl")).unwrap();
    let mut writer = HistoryWriter::new("all.jsonl", file).unwrap();
    export_histories(store.as_ref(), HistorySelection::All, &mut writer).await.unwrap();
    writer.finish().unwrap();
    let exported = checker.check_folder(folder.path()).unwrap();
    exported.assert_compatible();
    assert_eq!(exported.progress.events, stored.progress.events);
    assert_eq!(exported.summary, stored.summary);

    let nothing = OrchestrationRegistry::builder().build();
    let report = Checker::new(nothing).check_store(store.as_ref()).await.unwrap();
    assert!(!report.problems.is_empty());
    for problem in &report.problems {
        assert!(matches!(problem.verdict, Verdict::HandlerMissing { .. }), "{problem}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_a_node_records_on_sqlite_agrees() {
    use duroxide::providers::sqlite::SqliteProvider;
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    everything_that_a_node_records_agrees(store).await;
}

#[cfg(feature = "postgres")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_that_a_node_records_on_postgres_agrees() {
    use duroxide::providers::postgres::PostgresProvider;
    let url = duroxide_pg_server::shared_url().unwrap();
    let schema = format!("histories{}", std::process::id());
    let store = Arc::new(PostgresProvider::new_with_schema(&url, &schema).await.unwrap());
    everything_that_a_node_records_agrees(store).await;
}
