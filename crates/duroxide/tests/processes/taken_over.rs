//! A process on a SQLite file that is killed is known to be dead: its work runs elsewhere at once,
//! however long its leases are.

use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::journal::TIMEOUT;
use crate::node::Options;
use crate::stores::Store;

/// Longer than a test may take.
const LEASE: Duration = Duration::from_secs(120);

/// The check for dead processes comes once a second; a busy machine may add to that.
const SOON: Duration = Duration::from_secs(30);

async fn cluster() -> (Cluster, Options) {
    assert!(TIMEOUT < LEASE);
    let cluster = Cluster::new(Store::sqlite).await;
    let mut options = cluster.options();
    (options.turn_lease, options.work_lease, options.session_lease) = (LEASE, LEASE, LEASE);
    (cluster, options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_process_runs_the_activity_of_a_killed_one() {
    let (cluster, options) = cluster().await;
    let first = cluster.node(&options);
    cluster.start("order", "Held", "").await;
    cluster.journal.wait("started", "order", first.id()).await;
    first.kill();
    let killed = Instant::now();
    let second = cluster.node(&options);
    cluster.journal.wait("started", "order", second.id()).await;
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
    cluster.gates().open("order");
    assert_eq!(cluster.output("order").await, second.id().to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_process_runs_the_turn_of_a_killed_one() {
    let (cluster, options) = cluster().await;
    let first = cluster.node(&options);
    cluster.start("order", "LongTurn", "").await;
    cluster.journal.wait("turn", "order", first.id()).await;
    first.kill();
    let killed = Instant::now();
    let second = cluster.node(&options);
    cluster.journal.wait("turn", "order", second.id()).await;
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
    cluster.gates().open("order");
    assert_eq!(cluster.output("order").await, second.id().to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_runs_already_takes_over_but_not_from_a_paused_one() {
    let (cluster, options) = cluster().await;
    let paused = cluster.node(&options);
    cluster.start("held", "Held", "").await;
    cluster.journal.wait("started", "held", paused.id()).await;
    cluster.pause(&paused).await;
    let killed = cluster.node(&options);
    cluster.start("order", "Held", "").await;
    cluster.journal.wait("started", "order", killed.id()).await;
    let other = cluster.node(&options);
    killed.kill();
    cluster.journal.wait("started", "order", other.id()).await;
    let entries = cluster.journal.all("started", "held");
    assert_eq!(entries.len(), 1, "{entries:?}");
    paused.resume();
    for (instance, node) in [("held", &paused), ("order", &other)] {
        cluster.gates().open(instance);
        assert_eq!(cluster.output(instance).await, node.id().to_string());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_of_a_killed_process_moves_at_once() {
    let (cluster, mut options) = cluster().await;
    options.node_id = Some("first".to_owned());
    let first = cluster.node(&options);
    cluster.start("moves", "Session", "moves").await;
    cluster.until_kind("moves", "ExternalSubscribed").await;
    let first_id = first.id();
    first.kill();
    let killed = Instant::now();
    options.node_id = Some("second".to_owned());
    let second = cluster.node(&options);
    cluster.client.raise_event("moves", "Go", "").await.unwrap();
    assert_eq!(cluster.output("moves").await, format!("{first_id} {}", second.id()));
    assert!(killed.elapsed() < SOON, "{:?}", killed.elapsed());
}
