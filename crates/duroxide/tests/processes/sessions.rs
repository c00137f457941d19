//! Sessions between processes.

use std::time::{Duration, Instant};

use crate::place::Place;

/// What a busy machine may add to a lease.
const MARGIN: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_stays_on_its_node_and_moves_when_that_is_killed() {
    let place = Place::new().await;
    let mut options = place.options();
    options.node_id = Some("first".to_owned());
    let first = place.node(&options);
    for instance in ["stays", "moves"] {
        place.begin(instance, "Session", instance).await;
        place.until_kind(instance, "ExternalSubscribed").await;
    }
    options.node_id = Some("second".to_owned());
    let second = place.node(&options);
    // The second node runs turns as well, so it is really there.
    place.begin("sign of life", "Quick", "").await;
    place.output("sign of life").await;
    place.client.raise_event("stays", "Go", "").await.unwrap();
    assert_eq!(place.output("stays").await, format!("{0} {0}", first.id()));
    let first_id = first.id();
    first.kill();
    let killed = Instant::now();
    place.client.raise_event("moves", "Go", "").await.unwrap();
    assert_eq!(place.output("moves").await, format!("{first_id} {}", second.id()));
    let took = killed.elapsed();
    println!("a session moved {took:?} after the kill, lease {:?}", options.session_lease);
    assert!(took < options.session_lease + options.turn_lease + MARGIN, "took {took:?}");
}
