//! Many activities and many workflows at once.

use std::time::{Duration, Instant};

use duroxide::providers::sqlite::SqliteProvider;
use tokio::task::JoinSet;

use crate::test_node::{TestNode, exclusive};

const FAN_OUT: u64 = 10_000;
const FAN_OUT_TIME_MAX: Duration = Duration::from_secs(60);

const WORKFLOWS: usize = 2_000;
const WORKFLOWS_TIME_MAX: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fan_out_of_ten_thousand_activities_joins() {
    let _exclusive = exclusive().await;
    let node = TestNode::in_memory().await;
    let start = Instant::now();
    let sum = node.run("wide", "FanOut", &FAN_OUT.to_string()).await;
    let took = start.elapsed();
    node.stop().await;
    println!("{FAN_OUT} activities joined in {took:?}");
    assert_eq!(sum, (FAN_OUT * (FAN_OUT - 1) / 2).to_string());
    assert!(took < FAN_OUT_TIME_MAX, "took {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_durable_workflows_start_and_finish_within_ten_seconds() {
    let _exclusive = exclusive().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many.db");
    let node = TestNode::on(SqliteProvider::new(file.to_str().unwrap(), None).await.unwrap()).await;
    let start = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..WORKFLOWS {
        let client = node.client.clone();
        running.spawn(async move {
            let instance = format!("one-{number}");
            client.start_orchestration(&instance, "One", number.to_string()).await.unwrap();
            instance
        });
    }
    let started = running.join_all().await;
    let start_took = start.elapsed();
    for instance in &started {
        assert_eq!(format!("one-{}", node.output(instance).await), *instance);
    }
    let took = start.elapsed();
    node.stop().await;
    println!("{WORKFLOWS} workflows started in {start_took:?}, finished in {took:?}");
    assert!(took < WORKFLOWS_TIME_MAX, "took {took:?}");
}
