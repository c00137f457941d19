//! More work than one node has room for spreads over all nodes.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::cluster::Cluster;
use crate::journal::{Entry, POLL_INTERVAL, TIMEOUT};

on_every_store!(
    activities_spread_over_the_nodes,
    turns_spread_over_the_nodes,
    the_other_nodes_run_the_work_of_a_killed_node,
);

/// Long, because no node is killed here and no lease may expire on a busy machine.
const LEASE: Duration = Duration::from_secs(30);
const SLOTS: usize = 2;

async fn activities_spread_over_the_nodes(cluster: Cluster) {
    let mut options = cluster.options();
    (options.activities, options.work_lease) = (SLOTS, LEASE);
    let nodes = [cluster.node(&options), cluster.node(&options), cluster.node(&options)];
    let instances: Vec<String> =
        (0..nodes.len() * SLOTS).map(|number| format!("held-{number}")).collect();
    for instance in &instances {
        cluster.start(instance, "Held", "").await;
    }
    // All of them run at once, which needs every slot.
    let shares = shares(&cluster, "started", instances.len()).await;
    assert_eq!(shares, nodes.iter().map(|node| (node.id(), SLOTS)).collect());
    for instance in &instances {
        cluster.gates().open(instance);
        cluster.output(instance).await;
    }
    assert_eq!(count(&cluster, "started"), instances.len(), "each ran once");
}

async fn turns_spread_over_the_nodes(cluster: Cluster) {
    let mut options = cluster.options();
    (options.turns, options.turn_lease) = (1, LEASE);
    let nodes = [cluster.node(&options), cluster.node(&options), cluster.node(&options)];
    let instances = ["first", "second", "third"];
    for instance in instances {
        cluster.start(instance, "LongTurn", "").await;
    }
    let shares = shares(&cluster, "turn", instances.len()).await;
    assert_eq!(shares, nodes.iter().map(|node| (node.id(), 1)).collect());
    for instance in instances {
        cluster.gates().open(instance);
        cluster.output(instance).await;
    }
    assert_eq!(count(&cluster, "decided"), instances.len(), "each ran once");
}

async fn the_other_nodes_run_the_work_of_a_killed_node(cluster: Cluster) {
    let mut options = cluster.options();
    options.activities = SLOTS;
    let [killed, second, third] = [(); 3].map(|()| cluster.node(&options));
    let instances: Vec<String> = (0..3 * SLOTS).map(|number| format!("held-{number}")).collect();
    for instance in &instances {
        cluster.start(instance, "Held", "").await;
    }
    let shares = shares(&cluster, "started", instances.len()).await;
    assert_eq!(shares.len(), 3, "{shares:?}");
    let survivors = [second.id(), third.id()];
    let killed_id = killed.id();
    killed.kill();
    for instance in &instances {
        cluster.gates().open(instance);
    }
    for instance in &instances {
        let by: u32 = cluster.output(instance).await.parse().unwrap();
        assert!(survivors.contains(&by), "{instance} ran on {by}");
    }
    let of_killed = |entry: &&Entry| entry.process == killed_id && entry.what == "started";
    for entry in cluster.journal.read().iter().filter(of_killed) {
        let start = cluster.journal.all("started", &entry.instance);
        assert!(start.iter().any(|again| survivors.contains(&again.process)), "{start:?}");
    }
}

/// Waits for `wanted` entries of one kind and counts them by process.
async fn shares(cluster: &Cluster, what: &str, wanted: usize) -> BTreeMap<u32, usize> {
    let all = async {
        while count(cluster, what) < wanted {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let in_time = tokio::time::timeout(TIMEOUT, all).await;
    in_time.unwrap_or_else(|_elapsed| panic!("{:?}", cluster.journal.read()));
    let mut shares = BTreeMap::new();
    for entry in cluster.journal.read().iter().filter(|entry| entry.what == what) {
        *shares.entry(entry.process).or_default() += 1;
    }
    shares
}

fn count(cluster: &Cluster, what: &str) -> usize {
    cluster.journal.read().iter().filter(|entry| entry.what == what).count()
}
