//! Idle nodes and waiting instances cost almost nothing.

use std::time::Duration;

use duroxide::providers::sqlite::SqliteProvider;

use crate::test_node::{TestNode, exclusive};

const WAITING: usize = 100;
const PERIOD: Duration = Duration::from_secs(3);
const SHARE_MAX: f64 = 0.01;
/// Rounds of the measurement: the node may still be busy in the first one.
const ROUNDS: usize = 4;

#[cfg_attr(not(target_os = "linux"), ignore = "reads /proc")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_node_with_waiting_instances_uses_less_than_a_hundredth_of_a_core() {
    let _exclusive = exclusive().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("idle.db");
    let node = TestNode::on(SqliteProvider::new(file.to_str().unwrap(), None).await.unwrap()).await;
    for number in 0..WAITING {
        node.client.start_orchestration(format!("wait-{number}"), "Wait", "").await.unwrap();
    }
    all_waiting(&node).await;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let before = cpu_time().expect("/proc shows the processor time of each thread");
        // This is the measured period.
        tokio::time::sleep(PERIOD).await;
        let used = cpu_time().unwrap() - before;
        let share = used.as_secs_f64() / PERIOD.as_secs_f64();
        println!("idle: {used:?} of processor time in {PERIOD:?}, {:.2} % of a core", share * 1e2);
        best = best.min(share);
        if best < SHARE_MAX {
            break;
        }
    }
    node.stop().await;
    assert!(best < SHARE_MAX, "an idle node uses {:.2} % of a core", best * 100.0);
}

/// Waits until every instance has committed its first turn.
async fn all_waiting(node: &TestNode) {
    for number in 0..WAITING {
        let instance = format!("wait-{number}");
        while node.client.get_orchestration_stats(&instance).await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Processor time of all threads of this process, in user and kernel mode.
fn cpu_time() -> Option<Duration> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let mut nanos = 0;
    for task in tasks {
        // First field: nanoseconds on a processor. Finer than the ticks of /proc/self/stat.
        let text = std::fs::read_to_string(task.ok()?.path().join("schedstat")).ok()?;
        nanos += text.split_whitespace().next()?.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanos))
}
