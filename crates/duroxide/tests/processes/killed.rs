//! A node that dies: its work goes to another within the lease.

use std::time::{Duration, Instant};

use duroxide::OrchestrationStatus;

use crate::diary::PATIENCE;
use crate::place::Place;

/// What a busy machine may add to a lease.
const MARGIN: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_activity_of_a_killed_node_goes_to_another_within_the_lease() {
    let place = Place::new().await;
    let options = place.options();
    let first = place.node(&options);
    place.begin("order", "Held", "").await;
    place.diary.wait("began", "order", first.id()).await;
    let second = place.node(&options);
    // The other node is there and has nothing to do.
    place.begin("other", "Held", "").await;
    place.until_kind("other", "ActivityScheduled").await;
    first.kill();
    let killed = Instant::now();
    place.diary.wait("began", "order", second.id()).await;
    let took = killed.elapsed();
    println!("an activity moved {took:?} after the kill, lease {:?}", options.work_lease);
    assert!(took < options.work_lease + MARGIN, "took {took:?}");
    place.gates.open("order");
    assert_eq!(place.output("order").await, second.id().to_string());
    assert_eq!(
        place.kinds("order").await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
    place.gates.open("other");
    place.output("other").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_turn_of_a_killed_node_goes_to_another_within_the_lease() {
    let place = Place::new().await;
    let options = place.options();
    let first = place.node(&options);
    place.begin("order", "LongTurn", "").await;
    place.diary.wait("turn", "order", first.id()).await;
    let second = place.node(&options);
    first.kill();
    let killed = Instant::now();
    place.diary.wait("turn", "order", second.id()).await;
    let took = killed.elapsed();
    println!("a turn moved {took:?} after the kill, lease {:?}", options.turn_lease);
    // The second node was started a moment before the kill, which takes time of its own.
    assert!(took < options.turn_lease + MARGIN, "took {took:?}");
    place.gates.open("order");
    assert_eq!(place.output("order").await, second.id().to_string());
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

/// A panic while another one unwinds, a stack overflow, or running out of memory end the process:
/// nothing can catch them. The activity must not take one node after the other with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_activity_that_ends_its_process_is_poison_and_does_not_go_round_for_ever() {
    let place = Place::new().await;
    let mut options = place.options();
    options.attempts_max = 2;
    options.work_lease = Duration::from_millis(300);
    place.begin("order", "Abort", "").await;
    for _attempt in 0..options.attempts_max {
        place.node(&options).ended().await;
    }
    let survivor = place.node(&options);
    let ended = place.client.wait_for_orchestration("order", PATIENCE).await.unwrap();
    let OrchestrationStatus::Failed { details, .. } = ended else { panic!("{ended:?}") };
    let text = details.display_message();
    assert!(text.contains("3 attempts (max 2)") || text.starts_with("poison"), "{text}");
    assert_eq!(place.diary.all("began", "order").len(), 2);
    place.begin("next", "Quick", "").await;
    assert_eq!(place.output("next").await, survivor.id().to_string());
}
