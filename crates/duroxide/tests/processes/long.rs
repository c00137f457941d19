//! Work that takes far longer than its lease runs once, although other nodes could run it.

use std::time::Duration;

use crate::cluster::Cluster;

on_every_store!(activities_and_turns_far_longer_than_their_lease_run_once,);

/// The duration of the work, in leases.
const LEASES: u32 = 4;

async fn activities_and_turns_far_longer_than_their_lease_run_once(cluster: Cluster) {
    let mut options = cluster.options();
    // Long enough for a busy machine to renew them in time.
    options.work_lease = Duration::from_secs(3);
    options.turn_lease = Duration::from_secs(3);
    let nodes = [cluster.node(&options), cluster.node(&options)];
    cluster.start("activity", "Held", "").await;
    cluster.start("turn", "LongTurn", "").await;
    cluster.until_kind("activity", "ActivityScheduled").await;
    // This is how long the work takes: no condition to wait for.
    tokio::time::sleep(options.work_lease * LEASES).await;
    cluster.gates().open("activity");
    cluster.gates().open("turn");
    let ids = nodes.each_ref().map(|node| node.id().to_string());
    assert!(ids.contains(&cluster.output("activity").await));
    assert!(ids.contains(&cluster.output("turn").await));
    for (what, instance) in
        [("started", "activity"), ("completed", "activity"), ("turn", "turn"), ("quick", "turn")]
    {
        let entries = cluster.journal.all(what, instance);
        assert_eq!(entries.len(), 1, "{what} {instance}: {:?}", cluster.journal.read());
    }
    for instance in ["activity", "turn"] {
        assert_eq!(cluster.kinds(instance).await.len(), 4);
    }
}
