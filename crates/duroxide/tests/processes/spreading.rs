//! Work that one node cannot do alone goes to all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::diary::{LOOK, PATIENCE};
use crate::place::Place;

on_every_store!(
    activities_spread_over_the_nodes,
    turns_spread_over_the_nodes,
    the_work_of_a_killed_node_is_done_by_the_others,
);

/// Nobody dies here, so that nothing moves however busy the machine is.
const LEASE: Duration = Duration::from_secs(30);
const SLOTS: usize = 2;

async fn activities_spread_over_the_nodes(place: Place) {
    let mut options = place.options();
    (options.activities, options.work_lease) = (SLOTS, LEASE);
    let nodes = [place.node(&options), place.node(&options), place.node(&options)];
    let instances: Vec<String> =
        (0..nodes.len() * SLOTS).map(|number| format!("held-{number}")).collect();
    for instance in &instances {
        place.begin(instance, "Held", "").await;
    }
    // All of them run at once, which takes every slot there is.
    let shares = shares(&place, "began", instances.len()).await;
    assert_eq!(shares, nodes.iter().map(|node| (node.id(), SLOTS)).collect());
    for instance in &instances {
        place.gates.open(instance);
        place.output(instance).await;
    }
    assert_eq!(count(&place, "began"), instances.len(), "nothing ran twice");
}

async fn turns_spread_over_the_nodes(place: Place) {
    let mut options = place.options();
    (options.turns, options.turn_lease) = (1, LEASE);
    let nodes = [place.node(&options), place.node(&options), place.node(&options)];
    let instances = ["first", "second", "third"];
    for instance in instances {
        place.begin(instance, "LongTurn", "").await;
    }
    let shares = shares(&place, "turn", instances.len()).await;
    assert_eq!(shares, nodes.iter().map(|node| (node.id(), 1)).collect());
    for instance in instances {
        place.gates.open(instance);
        place.output(instance).await;
    }
    assert_eq!(count(&place, "decided"), instances.len(), "nothing ran twice");
}

async fn the_work_of_a_killed_node_is_done_by_the_others(place: Place) {
    let mut options = place.options();
    options.activities = SLOTS;
    let [killed, second, third] = [(); 3].map(|()| place.node(&options));
    let instances: Vec<String> = (0..3 * SLOTS).map(|number| format!("held-{number}")).collect();
    for instance in &instances {
        place.begin(instance, "Held", "").await;
    }
    let shares = shares(&place, "began", instances.len()).await;
    assert_eq!(shares.len(), 3, "{shares:?}");
    let survivors = [second.id(), third.id()];
    let killed_id = killed.id();
    killed.kill();
    for instance in &instances {
        place.gates.open(instance);
    }
    for instance in &instances {
        let by: u32 = place.output(instance).await.parse().unwrap();
        assert!(survivors.contains(&by), "{instance} was done by {by}");
    }
    for entry in place.diary.read().iter().filter(|entry| entry.process == killed_id) {
        let began = place.diary.all("began", &entry.instance);
        assert!(began.iter().any(|again| survivors.contains(&again.process)), "{began:?}");
    }
}

/// Entries of one kind by process, once there are so many.
async fn shares(place: &Place, what: &str, wanted: usize) -> BTreeMap<u32, usize> {
    let enough = async {
        while count(place, what) < wanted {
            tokio::time::sleep(LOOK).await;
        }
    };
    let in_time = tokio::time::timeout(PATIENCE, enough).await;
    in_time.unwrap_or_else(|_elapsed| panic!("{:?}", place.diary.read()));
    let mut shares = BTreeMap::new();
    for entry in place.diary.read().iter().filter(|entry| entry.what == what) {
        *shares.entry(entry.process).or_default() += 1;
    }
    shares
}

fn count(place: &Place, what: &str) -> usize {
    place.diary.read().iter().filter(|entry| entry.what == what).count()
}
