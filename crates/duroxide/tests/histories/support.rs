//! Stores with recorded work, and files of histories.

use std::path::PathBuf;
use std::sync::Arc;

use duroxide::histories::{HistoryReader, RecordedHistory};
use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{OrchestrationRegistry, Runtime};
use duroxide::{ActivityContext, Client, OrchestrationContext};

pub(crate) fn recordings() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/histories/recorded")
}

/// All histories of one recording.
pub(crate) fn histories_of(version: &str) -> Vec<RecordedHistory> {
    let path = recordings().join(format!("{version}.jsonl"));
    let file = std::fs::File::open(&path).unwrap();
    let place = path.display().to_string();
    let mut reader = HistoryReader::new(place, std::io::BufReader::new(file)).unwrap();
    let mut found = Vec::new();
    while let Some(raw) = reader.next_raw().unwrap() {
        found.push(raw.decode().unwrap());
    }
    found
}

/// An orchestration that charges, ships and then waits for a signal.
pub(crate) fn order() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Order", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Charge", input.clone()).await?;
            ctx.schedule_activity("Ship", input).await?;
            ctx.set_custom_status("shipped");
            Ok(ctx.schedule_wait("received").await)
        })
        .build()
}

/// A store in memory in which orders wait for their signal.
pub(crate) async fn waiting_orders(count: usize) -> Arc<dyn Provider> {
    let store: Arc<dyn Provider> = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let echo = |_ctx: ActivityContext, input: String| async move { Ok(input) };
    let activities =
        ActivityRegistry::builder().register("Charge", echo).register("Ship", echo).build();
    let runtime = Runtime::start_with_store(Arc::clone(&store), activities, order()).await;
    let client = Client::new(Arc::clone(&store));
    for n in 0..count {
        client.start_orchestration(format!("order-{n}"), "Order", "pears").await.unwrap();
    }
    for n in 0..count {
        let (id, wait) = (format!("order-{n}"), std::time::Duration::from_secs(60));
        client.wait_for_status_change(&id, 0, wait / 1000, wait).await.unwrap();
    }
    runtime.shutdown(None).await;
    store
}
