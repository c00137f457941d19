//! Runs the orchestrations of the recorded histories on the published 0.1.32 and writes the
//! histories to the file that its argument names, in the format of `docs/upgrades.md`.

#[path = "../../../crates/duroxide/tests/histories/code.rs"]
mod code;
#[path = "../../../crates/duroxide/tests/histories/driver.rs"]
mod driver;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::{Client, Event, EventKind};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).expect("the path of the file to write");
    // Not standard output: the published crate writes its log there.
    let mut output = BufWriter::new(File::create(path)?);
    let store: Arc<dyn Provider> =
        Arc::new(SqliteProvider::new_in_memory().await.expect("a store in memory"));
    driver::run_all(Arc::clone(&store)).await;
    writeln!(output, "{}", json!({"duroxide_histories": 1, "written_by": "0.1.32"}))?;
    let client = Client::new(store);
    let mut instances = client.list_all_instances().await.expect("instances");
    instances.sort();
    for instance in instances {
        let mut keys = BTreeMap::new();
        for execution_id in client.list_executions(&instance).await.expect("executions") {
            let history =
                client.read_execution_history(&instance, execution_id).await.expect("a history");
            let execution = json!({
                "instance": instance, "execution_id": execution_id, "kv": keys,
                "events": history.len(),
            });
            writeln!(output, "{}", json!({"execution": execution}))?;
            for event in history {
                writeln!(output, "{}", serde_json::to_string(&event).expect("an event is JSON"))?;
                apply(&mut keys, &event);
            }
        }
    }
    output.flush()
}

/// Changes the keys that the next execution starts with.
fn apply(keys: &mut BTreeMap<String, Value>, event: &Event) {
    match &event.kind {
        EventKind::KeyValueSet { key, value, last_updated_at_ms } => {
            let entry = json!({"value": value, "last_updated_at_ms": last_updated_at_ms});
            keys.insert(key.clone(), entry);
        }
        EventKind::KeyValueCleared { key } => drop(keys.remove(key)),
        EventKind::KeyValuesCleared => keys.clear(),
        _ => {}
    }
}
