//! Three nodes "1.5.0" become nodes "2.0.0" under load, and one of them goes back.

use std::collections::BTreeMap;
use std::sync::Arc;

use duroxide::runtime::test_hooks;

use crate::cluster::Cluster;
use crate::code::END;
use crate::deployment::Deployment;
use crate::load::{Load, Order};
use crate::node_process::Node;

on_every_store!(work_flows_while_a_cluster_is_upgraded_and_one_node_is_rolled_back,);

/// A node that gets no work in so many phases is not part of the cluster.
const PHASES_MAX: usize = 100;

async fn work_flows_while_a_cluster_is_upgraded_and_one_node_is_rolled_back(cluster: Cluster) {
    // So that the client reads and writes everything.
    test_hooks::act_as_version(Deployment::New.build());
    let cluster = Arc::new(cluster);
    let mut nodes = Vec::from(cluster.three_nodes(Deployment::Old).await);
    let mut old = LongRunning::start(&cluster, ["rental-1", "rental-2"], ["meter"]).await;
    let mut load = Load::start(&cluster);
    let all_old = load.flows().await;
    load.next_phase();

    for _ in 0..nodes.len() {
        nodes.remove(0).stop().await;
        load.flows().await;
        nodes.push(cluster.node(Deployment::New).await);
        until_it_works(&cluster, &mut load, nodes.last().unwrap()).await;
        old.rentals_go_on(&cluster).await;
    }

    let all_new = load.flows().await;
    let mut new = LongRunning::start(&cluster, ["rental-3", "rental-4", "rental-5"], []).await;
    // Its next execution is pinned to the new version.
    old.meters_go_on(&cluster).await;
    load.next_phase();

    nodes.remove(0).stop().await;
    load.flows().await;
    nodes.push(cluster.node(Deployment::Old).await);
    until_it_works(&cluster, &mut load, nodes.last().unwrap()).await;
    for instances in [&mut old, &mut new] {
        instances.rentals_go_on(&cluster).await;
    }
    old.meters_go_on(&cluster).await;
    let orders = load.end().await;

    assert_eq!(spread(&cluster).await, [("1.5.0", 2), ("2.0.0", 4)]);
    let handlers = cluster.client.get_running_handler_version_spread().await.unwrap();
    let count = |name: &str| handlers[name].clone().into_iter().collect::<Vec<_>>();
    assert_eq!((count("Meter"), count("Rental")), (vec![first(1)], vec![first(5)]));
    assert_eq!(handlers.len(), 2, "no order runs any more: {handlers:?}");
    let mut effects = effects_of(&orders);
    for instances in [old, new] {
        effects.extend(instances.end(&cluster).await);
    }
    assert_eq!(spread(&cluster).await, []);
    assert_eq!(cluster.effects(), effects, "every activity ran once");
    for order in &orders {
        let versions = match order.phase {
            Some(phase) if phase == all_old => &["1.0.0"][..],
            Some(phase) if phase == all_new => &["2.0.0"],
            Some(_) | None => &["1.0.0", "2.0.0"],
        };
        assert!(versions.contains(&order.version.as_str()), "{order:?}");
        let uses_new_kinds = cluster.kinds(&order.id).await.contains(&"ExternalEvent2");
        assert_eq!(uses_new_kinds, order.version == "2.0.0", "{order:?}");
    }
    for node in nodes {
        node.stop().await;
    }
    cluster.assert_all_is_done().await;
}

/// Waits until a node has run an activity.
async fn until_it_works(cluster: &Cluster, load: &mut Load, node: &Node) {
    for _ in 0..PHASES_MAX {
        load.flows().await;
        let journal = cluster.journal.read();
        if journal.iter().any(|entry| entry.process == node.id() && entry.what != "up") {
            return;
        }
    }
    panic!("{} gets no work", node.id());
}

/// So many instances of version 1.0.0.
fn first(instances: u64) -> (String, u64) {
    ("1.0.0".to_owned(), instances)
}

async fn spread(cluster: &Cluster) -> Vec<(&'static str, u64)> {
    let spread = cluster.client.get_running_duroxide_version_spread().await.unwrap();
    let known = |version: String| {
        ["1.5.0", "2.0.0"].into_iter().find(|known| *known == version).expect("a known version")
    };
    spread.into_iter().map(|(version, count)| (known(version), count)).collect()
}

/// What the activities of orders write: each of them once.
fn effects_of(orders: &[Order]) -> BTreeMap<(String, String), usize> {
    let effects = |order: &Order| {
        let names = match order.version.as_str() {
            "1.0.0" => &["Charge", "Box", "Ship"][..],
            _two => &["Charge", "Box", "Label", "Ship"],
        };
        let once = |name: &&str| (((*name).to_owned(), order.id.clone()), 1);
        names.iter().map(once).collect::<Vec<_>>()
    };
    orders.iter().flat_map(effects).collect()
}

/// Instances that wait for signals, and the round that each is in.
struct LongRunning {
    rentals: Vec<(String, u32)>,
    meters: Vec<(String, u32)>,
}

impl LongRunning {
    async fn start(
        cluster: &Cluster,
        rentals: impl IntoIterator<Item = &str>,
        meters: impl IntoIterator<Item = &str>,
    ) -> Self {
        let (mut started, named) = ([Vec::new(), Vec::new()], |id: &str| (id.to_owned(), 0));
        started[0].extend(rentals.into_iter().map(named));
        started[1].extend(meters.into_iter().map(named));
        for (instances, name) in started.iter().zip(["Rental", "Meter"]) {
            for (id, _) in instances {
                cluster.start(id, name, id).await;
                cluster.until_status(id, "0").await;
            }
        }
        let [rentals, meters] = started;
        Self { rentals, meters }
    }

    /// Each rental takes one more turn in its execution.
    async fn rentals_go_on(&mut self, cluster: &Cluster) {
        go_on(cluster, &mut self.rentals).await;
    }

    /// Each meter starts one more execution.
    async fn meters_go_on(&mut self, cluster: &Cluster) {
        go_on(cluster, &mut self.meters).await;
    }

    /// Ends all instances. Returns what their activities must have written.
    async fn end(self, cluster: &Cluster) -> Vec<((String, String), usize)> {
        let mut effects = Vec::new();
        for (id, rounds) in self.rentals.into_iter().chain(self.meters) {
            cluster.client.raise_event(id.as_str(), "Next", END).await.unwrap();
            assert_eq!(cluster.output(&id).await, rounds.to_string());
            let each = |round| (("Round".to_owned(), format!("{id} {round}")), 1);
            effects.extend((0..=rounds).map(each));
        }
        effects
    }
}

async fn go_on(cluster: &Cluster, instances: &mut [(String, u32)]) {
    for (id, round) in instances {
        cluster.client.raise_event(id.as_str(), "Next", "on").await.unwrap();
        *round += 1;
        cluster.until_status(id, &round.to_string()).await;
    }
}
