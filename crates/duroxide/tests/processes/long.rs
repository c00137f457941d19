//! Work that takes far longer than its lease runs once, although others would take it.

use std::time::Duration;

use crate::place::Place;

/// How many leases the work takes.
const LEASES: u32 = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn activities_and_turns_far_longer_than_their_lease_run_once() {
    let place = Place::new().await;
    let mut options = place.options();
    options.work_lease = Duration::from_millis(400);
    options.turn_lease = Duration::from_millis(400);
    let nodes = [place.node(&options), place.node(&options)];
    place.begin("activity", "Held", "").await;
    place.begin("turn", "LongTurn", "").await;
    place.until_kind("activity", "ActivityScheduled").await;
    // Not a wait for luck: this is how long the work takes.
    tokio::time::sleep(options.work_lease * LEASES).await;
    place.gates.open("activity");
    place.gates.open("turn");
    let ids = nodes.each_ref().map(|node| node.id().to_string());
    assert!(ids.contains(&place.output("activity").await));
    assert!(ids.contains(&place.output("turn").await));
    for (what, instance) in
        [("began", "activity"), ("ended", "activity"), ("turn", "turn"), ("quick", "turn")]
    {
        let entries = place.diary.all(what, instance);
        assert_eq!(entries.len(), 1, "{what} {instance}: {:?}", place.diary.read());
    }
    for instance in ["activity", "turn"] {
        assert_eq!(place.kinds(instance).await.len(), 4);
    }
}
