//! When a node is killed, another node runs its work within the lease.

use std::time::{Duration, Instant};

use duroxide::{ErrorDetails, OrchestrationStatus, PoisonMessageType};

use crate::cluster::Cluster;
use crate::journal::TIMEOUT;
use crate::node::MARGIN;

on_every_store!(
    another_node_runs_the_activity_of_a_killed_node_within_the_lease,
    another_node_runs_the_turn_of_a_killed_node_within_the_lease,
    an_activity_that_aborts_its_process_becomes_poison,
    a_turn_that_aborts_its_process_becomes_poison_and_no_other,
    a_turn_that_aborts_its_process_is_not_the_fault_of_its_activity,
);

async fn another_node_runs_the_activity_of_a_killed_node_within_the_lease(cluster: Cluster) {
    let options = cluster.options();
    let first = cluster.node(&options);
    cluster.start("order", "Held", "").await;
    cluster.journal.wait("started", "order", first.id()).await;
    let second = cluster.node(&options);
    // The other node runs and is idle.
    cluster.start("other", "Held", "").await;
    cluster.until_kind("other", "ActivityScheduled").await;
    first.kill();
    let killed = Instant::now();
    cluster.journal.wait("started", "order", second.id()).await;
    let took = killed.elapsed();
    println!("an activity moved {took:?} after the kill, lease {:?}", options.work_lease);
    assert!(took < options.work_lease + MARGIN, "took {took:?}");
    cluster.gates().open("order");
    assert_eq!(cluster.output("order").await, second.id().to_string());
    assert_eq!(
        cluster.kinds("order").await,
        [
            "OrchestrationStarted",
            "ActivityScheduled",
            "ActivityCompleted",
            "OrchestrationCompleted"
        ]
    );
    cluster.gates().open("other");
    cluster.output("other").await;
}

async fn another_node_runs_the_turn_of_a_killed_node_within_the_lease(cluster: Cluster) {
    let options = cluster.options();
    let first = cluster.node(&options);
    cluster.start("order", "LongTurn", "").await;
    cluster.journal.wait("turn", "order", first.id()).await;
    let second = cluster.node(&options);
    cluster.journal.wait("up", "node", second.id()).await;
    first.kill();
    let killed = Instant::now();
    cluster.journal.wait("turn", "order", second.id()).await;
    let took = killed.elapsed();
    println!("a turn moved {took:?} after the kill, lease {:?}", options.turn_lease);
    assert!(took < options.turn_lease + MARGIN, "took {took:?}");
    cluster.gates().open("order");
    assert_eq!(cluster.output("order").await, second.id().to_string());
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

/// A panic while another one unwinds, a stack overflow and a lack of memory abort the process:
/// nothing can catch them. Such an activity must not abort one node after the other.
async fn an_activity_that_aborts_its_process_becomes_poison(cluster: Cluster) {
    let mut options = cluster.options();
    options.attempts_max = 2;
    options.work_lease = Duration::from_millis(300);
    cluster.start("order", "Abort", "").await;
    for _attempt in 0..options.attempts_max {
        cluster.node(&options).wait_until_exit().await;
    }
    let survivor = cluster.node(&options);
    let status = cluster.client.wait_for_orchestration("order", TIMEOUT).await.unwrap();
    let OrchestrationStatus::Failed { details, .. } = status else { panic!("{status:?}") };
    let text = details.display_message();
    assert!(text.contains("3 attempts (max 2)") || text.starts_with("poison"), "{text}");
    assert_eq!(cluster.journal.all("started", "order").len(), 2);
    cluster.start("next", "Quick", "").await;
    assert_eq!(cluster.output("next").await, survivor.id().to_string());
}

/// All turns of a dead process lose their leases, but only one of them ended it.
async fn a_turn_that_aborts_its_process_becomes_poison_and_no_other(cluster: Cluster) {
    let mut options = cluster.options();
    options.attempts_max = 3;
    options.turn_lease = Duration::from_millis(300);
    for held in ["first", "second", "third"] {
        cluster.start(held, "LongTurn", "").await;
    }
    cluster.start("order", "AbortTurn", "").await;
    for _attempt in 0..options.attempts_max {
        cluster.node(&options).wait_until_exit().await;
    }
    let survivor = cluster.node(&options);
    assert_poison_of_turn(&cluster, "order").await;
    assert_eq!(cluster.journal.all("turn", "order").len(), 3, "{:?}", cluster.journal.read());
    for held in ["first", "second", "third"] {
        cluster.gates().open(held);
        assert_eq!(cluster.output(held).await, survivor.id().to_string());
    }
}

/// The result of the activity is stored at the second attempt, so that the turn is to blame.
async fn a_turn_that_aborts_its_process_is_not_the_fault_of_its_activity(cluster: Cluster) {
    let mut options = cluster.options();
    options.attempts_max = 2;
    options.turn_lease = Duration::from_millis(300);
    options.work_lease = Duration::from_millis(300);
    cluster.start("order", "AbortAfter", "").await;
    loop {
        tokio::select! {
            _status = cluster.node(&options).wait_until_exit() => {}
            () = assert_poison_of_turn(&cluster, "order") => break,
        }
    }
    // Its first result may be lost with the first process.
    assert!(cluster.journal.all("quick", "order").len() <= 2, "{:?}", cluster.journal.read());
}

async fn assert_poison_of_turn(cluster: &Cluster, instance: &str) {
    let status = cluster.client.wait_for_orchestration(instance, TIMEOUT).await.unwrap();
    let OrchestrationStatus::Failed { details, .. } = status else { panic!("{status:?}") };
    let ErrorDetails::Poison { message_type, .. } = &details else { panic!("{details:?}") };
    assert!(matches!(message_type, PoisonMessageType::Orchestration { .. }), "{details:?}");
}
