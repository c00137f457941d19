//! Rough numbers, printed: `cargo bench -p duroxide-sqlite --bench measure`.

#[path = "../tests/suite/support.rs"]
#[expect(dead_code, reason = "the tests use the rest")]
mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide_core::providers::{Provider, TagFilter};
use duroxide_sqlite::{SqliteProvider, Synchronous};

use support::*;

async fn cycles(level: Synchronous, tasks: usize, per_task: usize) -> Duration {
    let folder = tempfile::tempdir().unwrap();
    let builder = SqliteProvider::builder(&url(&folder)).with_synchronous(level);
    let provider = Arc::new(builder.open().await.unwrap());
    let start_time = Instant::now();
    let mut handles = Vec::new();
    for task in 0..tasks {
        let provider = Arc::clone(&provider);
        handles.push(tokio::spawn(async move {
            for number in 0..per_task {
                let instance = format!("i-{task}-{number}");
                provider.enqueue_for_orchestrator(start(&instance), None).await.unwrap();
                let turn = turn(&*provider).await;
                let instance = turn.item.instance.clone();
                let next =
                    commit(&turn.lock_token, vec![started(&instance, 1), heard(&instance, 2)])
                        .with_activities(vec![activity(&instance, 2)]);
                provider.store_turn(next).await.unwrap();
                let work = provider.fetch_work_item(LEASE, NOW, None, &TagFilter::Any).await;
                let (_, token, _) = work.unwrap().unwrap();
                provider.ack_work_item(&token, None).await.unwrap();
            }
        }));
    }
    for handle in handles {
        handle.await.unwrap();
    }
    start_time.elapsed()
}

async fn cycles_of_start_turn_activity() {
    for level in [Synchronous::Full, Synchronous::Normal] {
        for tasks in [1, 16, 128] {
            let per_task = if tasks == 1 { 300 } else { 3000 / tasks };
            let elapsed = cycles(level, tasks, per_task).await;
            let each = elapsed / u32::try_from(tasks * per_task).unwrap();
            println!("{level:?}, {tasks} tasks: {each:?} per cycle of 5 commits");
        }
    }
}

async fn fetch_with_a_million_waiting() {
    let store = Store::new().await;
    measure_fetches("in an empty store", &store.provider).await;
    let sql = store.sql();
    sql.execute_batch(&format!(
        "PRAGMA synchronous = OFF; BEGIN;
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
         INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, parked)
         SELECT 'i-' || i, '{{}}', {later}, 0, 0 FROM n;
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
         INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, parked)
         SELECT 'p-' || i, '{{}}', 0, 0, 1 FROM n;
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000)
         INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
             current_execution_id, created_at, updated_at, incarnation)
         SELECT 'f-' || i, 'n', '1.0.0', 1, 0, 0, i FROM n;
         COMMIT;",
        later = BEGIN_MS + 1_000_000_000
    ))
    .unwrap();
    measure_fetches("with 2.1 million rows around", &store.provider).await;
}

async fn measure_fetches(label: &str, provider: &SqliteProvider) {
    for number in 0..1000 {
        let instance = format!("x-{label}-{number}");
        provider.enqueue_for_orchestrator(start(&instance), None).await.unwrap();
    }
    let start_time = Instant::now();
    for _ in 0..1000 {
        let turn = turn(provider).await;
        let events = vec![started(&turn.item.instance, 1)];
        provider.store_turn(commit(&turn.lock_token, events)).await.unwrap();
    }
    println!("fetch and commit {label}: {:?}", start_time.elapsed() / 1000);
    let start_time = Instant::now();
    for _ in 0..1000 {
        assert!(try_turn(provider).await.is_none());
    }
    println!("empty fetch {label}: {:?}", start_time.elapsed() / 1000);
}

async fn idle_cost() {
    let folder = tempfile::tempdir().unwrap();
    let provider = SqliteProvider::new(&url(&folder), None).await.unwrap();
    let before = cpu_time();
    let wait = Duration::from_secs(5);
    let none = provider.fetch_work_item(LEASE, wait, None, &TagFilter::Any).await.unwrap();
    assert!(none.is_none());
    println!("5 s of waiting cost {:?} of processor time", cpu_time() - before);
}

/// Processor time of all threads of this process, as the scheduler counts it.
fn cpu_time() -> Duration {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

fn main() {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_time().build().unwrap();
    runtime.block_on(cycles_of_start_turn_activity());
    runtime.block_on(fetch_with_a_million_waiting());
    runtime.block_on(idle_cost());
}
