//! A turn of one process cancels an activity of another.

use std::time::Duration;

use crate::cluster::Cluster;

on_every_store!(another_process_cancels_a_running_activity_promptly,);

/// Renewal would detect the cancellation only after half a lease of thirty seconds.
const PROMPT: Duration = Duration::from_secs(5);

async fn another_process_cancels_a_running_activity_promptly(cluster: Cluster) {
    let mut options = cluster.options();
    options.work_lease = Duration::from_secs(30);
    options.activities = 0;
    let turn_node = cluster.node(&options);
    (options.turns, options.activities) = (0, 4);
    let activity_node = cluster.node(&options);
    for (instance, orchestration) in [("cancelled", "Held"), ("raced", "Race")] {
        cluster.start(instance, orchestration, "").await;
        cluster.journal.wait("started", instance, activity_node.id()).await;
    }
    cluster.until_kind("raced", "ExternalSubscribed").await;
    cluster.client.cancel_instance("cancelled", "enough").await.unwrap();
    cluster.client.raise_event("raced", "Enough", "").await.unwrap();
    for instance in ["cancelled", "raced"] {
        let cancelled = cluster.journal.wait("cancelled", instance, activity_node.id()).await;
        let requested = cluster.until_kind(instance, "ActivityCancelRequested").await;
        let took = Duration::from_millis(cancelled.at_ms.saturating_sub(requested.timestamp_ms));
        println!("{instance}: cancelled {took:?} after the turn of the other process");
        assert!(took < PROMPT, "took {took:?}");
    }
    drop(turn_node);
}
