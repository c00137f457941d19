//! Latency of one workflow whose every step survives a power loss.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use duroxide::providers::sqlite::SqliteProvider;

use crate::test_node::{TestNode, exclusive, median};

const RUNS: usize = 100;
const SYNCS: usize = 100;
const LATENCY_MAX: Duration = Duration::from_millis(5);
/// A workflow of one activity has seven sequential commits: its start, three leases, two turns and
/// the result of the activity.
const SYNCS_MAX: u32 = 12;
/// Allowed processor time, as a multiple of the same workflow in memory.
const MEMORY_MAX: u32 = 2;
const ROUNDS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_durable_workflow_takes_a_few_disk_syncs() {
    let _exclusive = exclusive().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.db");
    let node = TestNode::on(SqliteProvider::new(file.to_str().unwrap(), None).await.unwrap()).await;
    let in_memory = TestNode::in_memory().await;
    let mut is_fast = false;
    for round in 0..ROUNDS {
        let sync_before = sync_time(folder.path());
        let memory_before = workflow_time(&in_memory, &format!("before-{round}")).await;
        let latency = workflow_time(&node, &format!("file-{round}")).await;
        let memory = memory_before.max(workflow_time(&in_memory, &format!("after-{round}")).await);
        let sync = sync_before.max(sync_time(folder.path()));
        println!("one workflow {latency:?}, in memory {memory:?}, one sync of the disk {sync:?}");
        is_fast = latency <= LATENCY_MAX.max(sync * SYNCS_MAX + memory * MEMORY_MAX);
        if is_fast {
            break;
        }
    }
    node.stop().await;
    in_memory.stop().await;
    assert!(is_fast, "a workflow takes longer than {LATENCY_MAX:?} and than {SYNCS_MAX} syncs");
}

async fn workflow_time(node: &TestNode, name: &str) -> Duration {
    let mut times = Vec::new();
    for number in 0..RUNS {
        let start = Instant::now();
        node.run(&format!("{name}-{number}"), "One", "x").await;
        times.push(start.elapsed());
    }
    median(times)
}

/// Time to append a page and sync it.
fn sync_time(folder: &Path) -> Duration {
    let mut file = File::create(folder.join("sync")).unwrap();
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let start = Instant::now();
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        times.push(start.elapsed());
    }
    median(times)
}
