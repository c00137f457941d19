//! Nodes claim only work that they can run: by tag, and by the version that an execution is pinned
//! to.

use std::time::Duration;

use duroxide::providers::{ExecutionMetadata, WorkItem};
use duroxide::{Event, EventKind};

use crate::cluster::Cluster;

on_every_store!(
    only_a_node_with_its_tag_runs_an_activity,
    only_a_node_that_supports_its_pin_runs_an_instance,
);

/// Enough of each kind that random routing would fail the test.
const EACH: usize = 5;
const LEASE: Duration = Duration::from_secs(30);

async fn only_a_node_with_its_tag_runs_an_activity(cluster: Cluster) {
    let mut options = cluster.options();
    (options.turn_lease, options.work_lease) = (LEASE, LEASE);
    let mut nodes = Vec::new();
    for tag in ["gpu", "disk"] {
        options.tags = Some(vec![tag.to_owned()]);
        nodes.push((tag, cluster.node(&options)));
    }
    // This node runs activities without a tag.
    options.tags = None;
    nodes.push(("", cluster.node(&options)));
    for number in 0..EACH {
        for (tag, _node) in &nodes {
            cluster.start(&format!("{tag}-{number}"), "Tagged", tag).await;
        }
    }
    for number in 0..EACH {
        for (tag, node) in &nodes {
            assert_eq!(cluster.output(&format!("{tag}-{number}")).await, node.id().to_string());
        }
    }
}

async fn only_a_node_that_supports_its_pin_runs_an_instance(cluster: Cluster) {
    let builds = ["0.1.17", "0.2.0", "7.1.0"];
    for number in 0..EACH {
        for build in builds {
            record(&cluster, &format!("{build}-{number}"), build).await;
        }
    }
    let mut options = cluster.options();
    (options.turn_lease, options.work_lease) = (LEASE, LEASE);
    let nodes = builds.map(|build| {
        let (major_minor, _patch) = build.rsplit_once('.').unwrap();
        options.builds = Some((format!("{major_minor}.0"), format!("{major_minor}.999")));
        (build, cluster.node(&options))
    });
    for number in 0..EACH {
        for build in builds {
            cluster.client.raise_event(format!("{build}-{number}"), "Go", "").await.unwrap();
        }
    }
    for number in 0..EACH {
        for (build, node) in &nodes {
            assert_eq!(cluster.output(&format!("{build}-{number}")).await, node.id().to_string());
        }
    }
}

/// Records an instance that another version started and that waits for a signal.
async fn record(cluster: &Cluster, instance: &str, build: &str) {
    let start = WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Turn".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    };
    cluster.provider.enqueue_for_orchestrator(start, None).await.unwrap();
    let fetched = cluster.provider.fetch_orchestration_item(LEASE, Duration::ZERO, None).await;
    let (_item, token, _attempts) = fetched.unwrap().expect("the start");
    let event = |id, kind| {
        let mut event = Event::with_event_id(id, instance, 1, None, kind);
        build.clone_into(&mut event.duroxide_version);
        event
    };
    let started = EventKind::OrchestrationStarted {
        name: "Turn".to_owned(),
        version: "1.0.0".to_owned(),
        input: String::new(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    let waits = EventKind::ExternalSubscribed { name: "Go".to_owned() };
    let metadata = ExecutionMetadata {
        orchestration_name: Some("Turn".to_owned()),
        orchestration_version: Some("1.0.0".to_owned()),
        pinned_duroxide_version: Some(build.parse().unwrap()),
        ..ExecutionMetadata::default()
    };
    let events = vec![event(1, started), event(2, waits)];
    let stored = cluster.provider.ack_orchestration_item(
        &token,
        1,
        events,
        vec![],
        vec![],
        metadata,
        vec![],
    );
    stored.await.unwrap();
}
