//! A store whose every operation may fail, before or after it takes effect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::{OrchestrationStatus, RuntimeOptions};
use tokio::task::JoinSet;

use crate::flaky_store::{FlakyStore, Mood};
use crate::test_node::{TIMEOUT, TempStore, TestNode, options, retry};

const WORKFLOWS: usize = 200;

async fn run_all(store: Arc<FlakyStore>) -> Vec<(String, OrchestrationStatus)> {
    let options = RuntimeOptions {
        max_attempts: 10,
        orchestrator_lock_timeout: Duration::from_millis(400),
        worker_lock_timeout: Duration::from_millis(400),
        ..options()
    };
    let node = TestNode::with(store.clone(), options).await;
    let start = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..WORKFLOWS {
        let client = node.client.clone();
        running.spawn(async move {
            let id = format!("flaky-{number}");
            // A start whose response was lost is repeated.
            retry(|| client.start_orchestration(&id, "Steps", format!("{number}-"))).await;
            let status = retry(|| client.wait_for_orchestration(&id, TIMEOUT)).await;
            (id, status)
        });
    }
    let statuses = running.join_all().await;
    store.calm();
    node.stop().await;
    let injected = store.injected();
    let direct = store.direct();
    let took = start.elapsed();
    println!("{WORKFLOWS} workflows, {injected} errors injected, {direct} direct turns, {took:?}");
    assert!(direct > WORKFLOWS, "only {direct} turns were direct");
    assert!(injected > WORKFLOWS, "only {injected} errors were injected");
    statuses
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn random_errors_of_every_operation_lose_no_workflow() {
    let files = TempStore::new();
    let store =
        FlakyStore::on(files.open().await, Mood { refuse_turns: false, late_answers: false });
    for (id, status) in run_all(store).await {
        let number = id.trim_start_matches("flaky-");
        let expected = format!("{number}-0 {number}-1 {number}-2 end");
        match status {
            OrchestrationStatus::Completed { output, .. } => assert_eq!(output, expected),
            other => panic!("{id}: {other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_permanently_refused_commit_fails_its_instance_with_the_reason() {
    let files = TempStore::new();
    let store =
        FlakyStore::on(files.open().await, Mood { refuse_turns: true, late_answers: false });
    let mut failed = 0;
    for (id, status) in run_all(store).await {
        match status {
            OrchestrationStatus::Completed { .. } => {}
            OrchestrationStatus::Failed { details, .. } => {
                failed += 1;
                let text = details.display_message();
                assert!(text.starts_with("infrastructure:") && text.contains("injected"), "{text}");
            }
            other => panic!("{id}: {other:?}"),
        }
    }
    assert!(failed > 0, "no commit was refused");
}

// The node used to fetch the next turn with its whole history whenever the response to the previous
// commit was late: each step of a chain then cost more than the one before it, above all on a busy
// machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_commit_response_does_not_make_the_next_turn_read_history() {
    let files = TempStore::new();
    let mood = Mood { refuse_turns: false, late_answers: true };
    let store = FlakyStore::on(files.open().await, mood);
    let node = TestNode::on(store.clone()).await;
    node.client.start_orchestration("late", "Chain", "80").await.unwrap();
    assert_eq!(node.output("late").await, "80");
    node.stop().await;
    let read = store.events_read();
    println!("{read} events read");
    // Before the fix, twenty late responses over a history of 162 events read about 1,500.
    assert!(read < 400, "{read} events were read");
}
