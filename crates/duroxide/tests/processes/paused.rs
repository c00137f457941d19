//! A node that is paused past its lease loses it, and cannot commit when it resumes.

use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::journal::Entry;
use crate::node::MARGIN;

on_every_store!(
    a_paused_node_cannot_complete_an_activity_that_another_node_claimed,
    a_paused_node_cannot_commit_a_turn_that_another_node_claimed,
    the_only_node_completes_its_work_after_a_pause,
);

/// Long enough for the other node to keep its lease during its own short pause.
const UNTIL_RESUMED: Duration = Duration::from_secs(20);

async fn a_paused_node_cannot_complete_an_activity_that_another_node_claimed(cluster: Cluster) {
    let mut options = cluster.options();
    let paused_node = cluster.node(&options);
    cluster.start("order", "Held", "").await;
    cluster.journal.wait("started", "order", paused_node.id()).await;
    cluster.pause(&paused_node).await;
    let paused = Instant::now();
    let lease = std::mem::replace(&mut options.work_lease, UNTIL_RESUMED);
    let other = cluster.node(&options);
    let started = cluster.journal.wait("started", "order", other.id()).await;
    let took = paused.elapsed().min(since_up(&cluster, &started).await);
    println!("an activity moved {took:?} after the pause, lease {lease:?}");
    assert!(took < lease + MARGIN, "took {took:?}");
    // Both handlers could return now; the first node resumes first and finds the gate open.
    cluster.pause(&other).await;
    cluster.gates().open("order");
    paused_node.resume();
    // The handler of the first node is cancelled, or it returns and its completion is refused.
    wait_for_handler(&cluster, paused_node.id()).await;
    other.resume();
    assert_eq!(cluster.output("order").await, other.id().to_string());
    other.kill();
    assert_usable(&cluster, paused_node.id()).await;
    assert_eq!(
        cluster.kinds("order").await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
}

/// How long a node had run by then: its start takes long on a busy machine.
async fn since_up(cluster: &Cluster, entry: &Entry) -> Duration {
    let up = cluster.journal.wait("up", "node", entry.process).await;
    Duration::from_millis(entry.at_ms.saturating_sub(up.at_ms))
}

async fn wait_for_handler(cluster: &Cluster, process: u32) {
    let completed = cluster.journal.wait("completed", "order", process);
    let cancelled = cluster.journal.wait("cancelled", "order", process);
    tokio::select! {
        _ = completed => {}
        _ = cancelled => {}
    }
}

/// The node that was paused still works.
async fn assert_usable(cluster: &Cluster, process: u32) {
    cluster.start("next", "Quick", "").await;
    assert_eq!(cluster.output("next").await, process.to_string());
}

async fn a_paused_node_cannot_commit_a_turn_that_another_node_claimed(cluster: Cluster) {
    let mut options = cluster.options();
    let paused_node = cluster.node(&options);
    cluster.start("order", "LongTurn", "").await;
    cluster.journal.wait("turn", "order", paused_node.id()).await;
    cluster.pause(&paused_node).await;
    let paused = Instant::now();
    let lease = std::mem::replace(&mut options.turn_lease, UNTIL_RESUMED);
    let other = cluster.node(&options);
    let started = cluster.journal.wait("turn", "order", other.id()).await;
    let took = paused.elapsed().min(since_up(&cluster, &started).await);
    println!("a turn moved {took:?} after the pause, lease {lease:?}");
    assert!(took < lease + MARGIN, "took {took:?}");
    // The other node is paused in its turn, with a valid lease, while the first node decides.
    cluster.pause(&other).await;
    cluster.gates().open("order");
    paused_node.resume();
    cluster.journal.wait("decided", "order", paused_node.id()).await;
    other.resume();
    cluster.output("order").await;
    other.kill();
    assert_usable(&cluster, paused_node.id()).await;
    assert_eq!(cluster.journal.all("quick", "order").len(), 1, "{:?}", cluster.journal.read());
    assert_eq!(
        cluster.kinds("order").await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
}

/// The lease expires, but no other node has claimed the work: the node goes on with it.
async fn the_only_node_completes_its_work_after_a_pause(cluster: Cluster) {
    let options = cluster.options();
    let only_node = cluster.node(&options);
    cluster.start("order", "Held", "").await;
    cluster.journal.wait("started", "order", only_node.id()).await;
    cluster.pause(&only_node).await;
    // The lease expires by the clock of the machine: no condition to wait for.
    tokio::time::sleep(options.work_lease * 2).await;
    only_node.resume();
    cluster.gates().open("order");
    assert_eq!(cluster.output("order").await, only_node.id().to_string());
    assert_eq!(
        cluster.kinds("order").await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
}
