//! Idle nodes and waiting instances cost almost nothing.
//!
//! Both bounds hold on a slow or busy machine too: wake-ups are counted, and processor time is
//! compared with what the same node used for its work just before.

use std::time::Duration;

use duroxide::providers::sqlite::SqliteProvider;

use crate::test_node::{TestNode, exclusive};

const WAITING: usize = 100;
const PERIOD: Duration = Duration::from_secs(3);
/// Wake-ups of all threads in a second.
const WAKE_UPS_MAX: u64 = 40;
/// Processor time of an idle second, as a share of what the start of all instances took.
const SHARE_MAX: f64 = 0.1;
/// Rounds of the measurement: the node may still be busy in the first one.
const ROUNDS: usize = 4;

#[cfg_attr(not(target_os = "linux"), ignore = "reads /proc")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_node_with_waiting_instances_rarely_wakes_up() {
    let _exclusive = exclusive().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("idle.db");
    let node = TestNode::on(SqliteProvider::new(file.to_str().unwrap(), None).await.unwrap()).await;
    let before = Usage::of_this_process();
    for number in 0..WAITING {
        node.client.start_orchestration(format!("wait-{number}"), "Wait", "").await.unwrap();
    }
    all_waiting(&node).await;
    let busy = Usage::of_this_process().since(before);
    let mut idle = busy;
    for _ in 0..ROUNDS {
        let before = Usage::of_this_process();
        // This is the measured period.
        tokio::time::sleep(PERIOD).await;
        let round = Usage::of_this_process().since(before);
        println!("idle for {PERIOD:?}: {round:?}; the work before: {busy:?}");
        idle = Usage {
            processor_time: idle.processor_time.min(round.processor_time),
            wake_ups: idle.wake_ups.min(round.wake_ups),
        };
        if within_bounds(idle, busy) {
            break;
        }
    }
    node.stop().await;
    assert!(within_bounds(idle, busy), "idle for {PERIOD:?}: {idle:?}; the work before: {busy:?}");
}

fn within_bounds(idle: Usage, busy: Usage) -> bool {
    let share = idle.processor_time.as_secs_f64() / busy.processor_time.as_secs_f64();
    idle.wake_ups < WAKE_UPS_MAX * PERIOD.as_secs() && share < SHARE_MAX * PERIOD.as_secs_f64()
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

/// What the threads of this process have used so far.
#[derive(Clone, Copy, Debug)]
struct Usage {
    /// In user and kernel mode.
    processor_time: Duration,
    /// How often a thread went to sleep.
    wake_ups: u64,
}

impl Usage {
    fn of_this_process() -> Self {
        Self::read().expect("/proc shows the use of each thread")
    }

    fn read() -> Option<Self> {
        let mut nanos = 0;
        let mut wake_ups = 0;
        for task in std::fs::read_dir("/proc/self/task").ok()? {
            let task = task.ok()?.path();
            // First field: nanoseconds on a processor. Finer than the ticks of /proc/self/stat.
            let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
            nanos += text.split_whitespace().next()?.parse::<u64>().ok()?;
            let text = std::fs::read_to_string(task.join("status")).ok()?;
            let switches =
                text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
            wake_ups += switches.trim().parse::<u64>().ok()?;
        }
        Some(Self { processor_time: Duration::from_nanos(nanos), wake_ups })
    }

    fn since(self, before: Self) -> Self {
        Self {
            processor_time: self.processor_time.saturating_sub(before.processor_time),
            wake_ups: self.wake_ups.saturating_sub(before.wake_ups),
        }
    }
}
