//! One workflow at a time, each step safe against power loss.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use duroxide::providers::sqlite::SqliteProvider;

use crate::stand::{Stand, alone, median};

const RUNS: usize = 100;
const SYNCS: usize = 100;
const LATENCY_MAX: Duration = Duration::from_millis(5);
/// A workflow of one activity has seven commits that follow each other: its start, three leases,
/// two turns and the result of the activity.
const SYNCS_MAX: u32 = 12;
/// What the processor may take, in terms of the same workflow in memory.
const MEMORY_MAX: u32 = 2;
const ROUNDS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_durable_workflow_takes_a_few_syncs_of_the_disk() {
    let _alone = alone().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.db");
    let stand = Stand::on(SqliteProvider::new(file.to_str().unwrap(), None).await.unwrap()).await;
    let in_memory = Stand::in_memory().await;
    let mut met = false;
    for round in 0..ROUNDS {
        let sync_before = sync_time(folder.path());
        let memory_before = workflow_time(&in_memory, &format!("before-{round}")).await;
        let latency = workflow_time(&stand, &format!("file-{round}")).await;
        let memory = memory_before.max(workflow_time(&in_memory, &format!("after-{round}")).await);
        let sync = sync_before.max(sync_time(folder.path()));
        println!("one workflow {latency:?}, in memory {memory:?}, one sync of the disk {sync:?}");
        met = latency <= LATENCY_MAX.max(sync * SYNCS_MAX + memory * MEMORY_MAX);
        if met {
            break;
        }
    }
    stand.stop().await;
    in_memory.stop().await;
    assert!(met, "a workflow takes longer than {LATENCY_MAX:?} and than {SYNCS_MAX} syncs");
}

async fn workflow_time(stand: &Stand, name: &str) -> Duration {
    let mut times = Vec::new();
    for number in 0..RUNS {
        let began = Instant::now();
        stand.run(&format!("{name}-{number}"), "One", "x").await;
        times.push(began.elapsed());
    }
    median(times)
}

/// What it costs to append a page and sync it.
fn sync_time(folder: &Path) -> Duration {
    let mut file = File::create(folder.join("sync")).unwrap();
    let mut times = Vec::new();
    for _ in 0..SYNCS {
        let began = Instant::now();
        file.write_all(&[7; 4096]).unwrap();
        file.sync_data().unwrap();
        times.push(began.elapsed());
    }
    median(times)
}
