//! A store whose every operation may fail, before or after it was done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use duroxide::{OrchestrationStatus, RuntimeOptions};
use tokio::task::JoinSet;

use crate::flaky_store::{FlakyStore, Mood};
use crate::stand::{PATIENCE, Place, Stand, insist, options};

const WORKFLOWS: usize = 200;

async fn run_all(store: Arc<FlakyStore>) -> Vec<(String, OrchestrationStatus)> {
    let options = RuntimeOptions {
        max_attempts: 1_000,
        orchestrator_lock_timeout: Duration::from_millis(400),
        worker_lock_timeout: Duration::from_millis(400),
        ..options()
    };
    let stand = Stand::with(store.clone(), options).await;
    let began = Instant::now();
    let mut running = JoinSet::new();
    for number in 0..WORKFLOWS {
        let client = stand.client.clone();
        running.spawn(async move {
            let id = format!("flaky-{number}");
            // A start whose answer was lost is simply asked for again.
            insist(|| client.start_orchestration(&id, "Steps", format!("{number}-"))).await;
            let ended = insist(|| client.wait_for_orchestration(&id, PATIENCE)).await;
            (id, ended)
        });
    }
    let ended = running.join_all().await;
    store.calm();
    stand.stop().await;
    let injected = store.injected();
    let direct = store.direct();
    let took = began.elapsed();
    println!("{WORKFLOWS} workflows, {injected} errors injected, {direct} direct turns, {took:?}");
    assert!(direct > WORKFLOWS, "only {direct} turns went without a fetch");
    assert!(injected > WORKFLOWS, "only {injected} errors injected");
    ended
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_of_every_kind_at_random_lose_no_workflow() {
    let place = Place::new();
    let store =
        FlakyStore::on(place.open().await, Mood { refuse_turns: false, late_answers: false });
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
async fn turns_refused_for_good_fail_their_instance_with_the_reason_and_none_hangs() {
    let place = Place::new();
    let store =
        FlakyStore::on(place.open().await, Mood { refuse_turns: true, late_answers: false });
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
    assert!(failed > 0, "no turn was refused");
}

// The next turn used to be fetched with its whole history whenever the answer to the commit before
// it was late: a chain of steps then cost more the longer it was, the more so on a busy machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_answer_to_a_commit_does_not_make_the_next_turn_read_its_history_again() {
    let place = Place::new();
    let mood = Mood { refuse_turns: false, late_answers: true };
    let store = FlakyStore::on(place.open().await, mood);
    let stand = Stand::on(store.clone()).await;
    stand.client.start_orchestration("late", "Chain", "80").await.unwrap();
    assert_eq!(stand.output("late").await, "80");
    stand.stop().await;
    let read = store.events_read();
    println!("{read} events read");
    // Twenty late answers over a history of 162 events came to about 1,500.
    assert!(read < 400, "{read} events were read again");
}
