//! Statements are counted if the builder has a counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duroxide_core::providers::Provider;
use duroxide_sqlite::SqliteProvider;

use crate::support::*;

#[tokio::test]
async fn reads_and_writes_are_counted_and_idle_time_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let counter = Arc::new(AtomicU64::new(0));
    let builder =
        SqliteProvider::builder(&url(&folder)).with_statement_counter(Arc::clone(&counter));
    let provider = builder.open().await.unwrap();
    let count = || counter.load(Ordering::Relaxed);

    let opened = count();
    provider.enqueue_for_orchestrator(start("a"), None).await.unwrap();
    let written = count();
    // At least: BEGIN, INSERT, COMMIT.
    assert!(written >= opened + 3, "{opened} then {written}");
    provider.read("a").await.unwrap();
    let read = count();
    assert!(read > written, "{written} then {read}");
    assert_eq!(count(), read);
}
