//! Waiting costs next to nothing.

use std::time::Duration;

use duroxide::providers::sqlite::SqliteProvider;

use crate::stand::{Stand, alone};

const WAITING: usize = 100;
const WATCHED: Duration = Duration::from_secs(3);
const SHARE_MAX: f64 = 0.01;
/// Rounds: the first begins while the node is still lively.
const ROUNDS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_node_with_waiting_instances_uses_less_than_a_hundredth_of_a_core() {
    let _alone = alone().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("idle.db");
    let stand = Stand::on(SqliteProvider::new(file.to_str().unwrap(), None).await.unwrap()).await;
    for number in 0..WAITING {
        stand.client.start_orchestration(format!("wait-{number}"), "Wait", "").await.unwrap();
    }
    settled(&stand).await;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let Some(before) = cpu_time() else { return println!("no /proc here: not measured") };
        // What is measured is what happens while time passes.
        tokio::time::sleep(WATCHED).await;
        let used = cpu_time().unwrap() - before;
        let share = used.as_secs_f64() / WATCHED.as_secs_f64();
        println!("idle: {used:?} of processor time in {WATCHED:?}, {:.2} % of a core", share * 1e2);
        best = best.min(share);
        if best < SHARE_MAX {
            break;
        }
    }
    stand.stop().await;
    assert!(best < SHARE_MAX, "an idle node uses {:.2} % of a core", best * 100.0);
}

/// Waits until every instance waits for its event.
async fn settled(stand: &Stand) {
    for number in 0..WAITING {
        let instance = format!("wait-{number}");
        while stand.client.get_orchestration_stats(&instance).await.unwrap().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

/// Time that all threads of this process have been running, in kernel and out of it.
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
