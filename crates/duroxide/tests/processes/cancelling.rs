//! An activity that is cancelled by a turn of another process.

use std::time::Duration;

use crate::place::Place;

/// Renewal would tell only after half a lease of thirty seconds.
const PROMPT: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_activity_hears_promptly_of_a_cancellation_by_another_process() {
    let place = Place::new().await;
    let mut options = place.options();
    options.work_lease = Duration::from_secs(30);
    options.activities = 0;
    let decides = place.node(&options);
    (options.turns, options.activities) = (0, 4);
    let acts = place.node(&options);
    for (instance, orchestration) in [("cancelled", "Held"), ("raced", "Race")] {
        place.begin(instance, orchestration, "").await;
        place.diary.wait("began", instance, acts.id()).await;
    }
    place.until_kind("raced", "ExternalSubscribed").await;
    place.client.cancel_instance("cancelled", "enough").await.unwrap();
    place.client.raise_event("raced", "Enough", "").await.unwrap();
    for instance in ["cancelled", "raced"] {
        let told = place.diary.wait("cancelled", instance, acts.id()).await;
        let decided = place.until_kind(instance, "ActivityCancelRequested").await;
        let took = Duration::from_millis(told.at_ms.saturating_sub(decided.timestamp_ms));
        println!("{instance}: told {took:?} after the turn of the other process");
        assert!(took < PROMPT, "took {took:?}");
    }
    drop(decides);
}
