//! A node that is paused past its lease: when it wakes up it holds nothing and can change nothing.

use std::time::{Duration, Instant};

use crate::place::Place;

/// What a busy machine may add to a lease.
const MARGIN: Duration = Duration::from_millis(1_500);
/// The other node keeps its lease while it is paused for a moment.
const UNTIL_RESUMED: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_node_cannot_report_an_activity_that_went_to_another() {
    let place = Place::new().await;
    let mut options = place.options();
    let sleeper = place.node(&options);
    place.begin("order", "Held", "").await;
    place.diary.wait("began", "order", sleeper.id()).await;
    sleeper.pause();
    let paused = Instant::now();
    let lease = std::mem::replace(&mut options.work_lease, UNTIL_RESUMED);
    let other = place.node(&options);
    place.diary.wait("began", "order", other.id()).await;
    let took = paused.elapsed();
    println!("an activity moved {took:?} after the pause, lease {lease:?}");
    assert!(took < lease + MARGIN, "took {took:?}");
    // Both handlers would return now; the sleeper wakes up first and finds the gate open.
    other.pause();
    place.gates.open("order");
    sleeper.resume();
    // The sleeper either learns that its lease is lost or returns and is refused.
    wait_for_end(&place, sleeper.id()).await;
    other.resume();
    assert_eq!(place.output("order").await, other.id().to_string());
    other.kill();
    assert_usable(&place, sleeper.id()).await;
    assert_eq!(
        place.kinds("order").await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
}

async fn wait_for_end(place: &Place, process: u32) {
    let ended = place.diary.wait("ended", "order", process);
    let cancelled = place.diary.wait("cancelled", "order", process);
    tokio::select! {
        _ = ended => {}
        _ = cancelled => {}
    }
}

/// The node that was asleep goes on working.
async fn assert_usable(place: &Place, process: u32) {
    place.begin("next", "Quick", "").await;
    assert_eq!(place.output("next").await, process.to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paused_node_cannot_commit_a_turn_that_another_took() {
    let place = Place::new().await;
    let mut options = place.options();
    let sleeper = place.node(&options);
    place.begin("order", "LongTurn", "").await;
    place.diary.wait("turn", "order", sleeper.id()).await;
    sleeper.pause();
    let paused = Instant::now();
    let lease = std::mem::replace(&mut options.turn_lease, UNTIL_RESUMED);
    let other = place.node(&options);
    place.diary.wait("turn", "order", other.id()).await;
    let took = paused.elapsed();
    println!("a turn moved {took:?} after the pause, lease {lease:?}");
    assert!(took < lease + MARGIN, "took {took:?}");
    // The other one is held in its turn, under a lease that is alive, while the sleeper decides.
    other.pause();
    place.gates.open("order");
    sleeper.resume();
    place.diary.wait("decided", "order", sleeper.id()).await;
    other.resume();
    place.output("order").await;
    other.kill();
    assert_usable(&place, sleeper.id()).await;
    assert_eq!(place.diary.all("quick", "order").len(), 1, "{:?}", place.diary.read());
    assert_eq!(
        place.kinds("order").await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
}

/// The same when nobody took the work: the lease has run out all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_paused_alone_runs_its_work_again_and_finishes_it() {
    let place = Place::new().await;
    let mut options = place.options();
    options.work_lease = Duration::from_millis(400);
    let alone = place.node(&options);
    place.begin("order", "Held", "").await;
    place.diary.wait("began", "order", alone.id()).await;
    alone.pause();
    // Not a wait for luck: the lease runs out by the clock of the machine.
    tokio::time::sleep(options.work_lease * 2).await;
    alone.resume();
    place.diary.wait("cancelled", "order", alone.id()).await;
    place.gates.open("order");
    assert_eq!(place.output("order").await, alone.id().to_string());
    assert_eq!(place.diary.all("began", "order").len(), 2);
    assert_eq!(
        place.kinds("order").await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
}
