//! Sessions across processes.

use std::time::{Duration, Instant};

use crate::cluster::Cluster;
use crate::node::MARGIN;

on_every_store!(a_session_stays_on_its_node_and_moves_when_the_node_is_killed,);

async fn a_session_stays_on_its_node_and_moves_when_the_node_is_killed(cluster: Cluster) {
    let mut options = cluster.options();
    // Long enough for a busy machine to renew it in time: one session must not move.
    options.session_lease = Duration::from_secs(5);
    options.node_id = Some("first".to_owned());
    let first = cluster.node(&options);
    for instance in ["stays", "moves"] {
        cluster.start(instance, "Session", instance).await;
        cluster.until_kind(instance, "ExternalSubscribed").await;
    }
    options.node_id = Some("second".to_owned());
    let second = cluster.node(&options);
    // The second node runs turns as well, which proves that it has started.
    cluster.start("second-started", "Quick", "").await;
    cluster.output("second-started").await;
    cluster.client.raise_event("stays", "Go", "").await.unwrap();
    assert_eq!(cluster.output("stays").await, format!("{0} {0}", first.id()));
    let first_id = first.id();
    first.kill();
    let killed = Instant::now();
    cluster.client.raise_event("moves", "Go", "").await.unwrap();
    assert_eq!(cluster.output("moves").await, format!("{first_id} {}", second.id()));
    let took = killed.elapsed();
    println!("a session moved {took:?} after the kill, lease {:?}", options.session_lease);
    assert!(took < options.session_lease + options.turn_lease + MARGIN, "took {took:?}");
}
