//! Tags: each filter accepts exactly its activities, and nodes with different filters coexist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{Provider, TagFilter};
use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, OrchestrationContext};

use crate::support::{DEFAULT_MODE, Node, activities, memory, orchestrations};

/// Calls of each kind: without tag, and with two of them.
const TAGS: [Option<&str>; 3] = [None, Some("gpu"), Some("cpu")];
const CALLS_OF_A_KIND: usize = 20;

/// Calls activities of every kind; each returns its worker.
async fn fan_out(ctx: OrchestrationContext, kinds: String) -> Result<String, String> {
    let mut calls = Vec::new();
    for kind in kinds.split(' ') {
        for _ in 0..CALLS_OF_A_KIND {
            let call = ctx.schedule_activity("Where", kind);
            calls.push(if kind == "-" { call } else { call.with_tag(kind) });
        }
    }
    let places: Result<Vec<String>, String> = ctx.join(calls).await.into_iter().collect();
    Ok(places?.join(" "))
}

async fn node(store: &Arc<dyn Provider>, name: &str, filter: TagFilter) -> Node {
    let options = RuntimeOptions {
        worker_tag_filter: filter,
        worker_node_id: Some(name.to_owned()),
        ..DEFAULT_MODE.options()
    };
    let registry =
        activities().register("Where", |ctx: ActivityContext, kind: String| async move {
            assert_eq!(ctx.tag().unwrap_or("-"), kind);
            let place = ctx.worker_id().rsplit('-').next().unwrap_or_default().to_owned();
            Ok(format!("{kind}:{place}"))
        });
    Node::on(store, options, orchestrations().register("Fan", fan_out), registry).await
}

/// The nodes that ran each kind.
fn places(output: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut places: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for (kind, place) in output.split(' ').filter_map(|entry| entry.split_once(':')) {
        places.entry(kind).or_default().insert(place);
    }
    places
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_with_all_five_filters_run_only_matching_activities() {
    let store = memory().await;
    let filters = [
        ("default", TagFilter::default_only()),
        ("tags", TagFilter::tags(["gpu"])),
        ("both", TagFilter::default_and(["cpu"])),
        ("any", TagFilter::any()),
        ("none", TagFilter::none()),
    ];
    let mut nodes = Vec::new();
    for (name, filter) in &filters {
        nodes.push(node(&store, name, filter.clone()).await);
    }
    for round in 0..5 {
        let output = nodes[0].run(&format!("fan-{round}"), "Fan", "- gpu cpu").await;
        let places = places(&output);
        assert_eq!(places.len(), TAGS.len(), "every call completed: {output}");
        for (kind, ran_at) in places {
            let tag = (kind != "-").then_some(kind);
            for place in ran_at {
                let (_, filter) = filters.iter().find(|(name, _)| *name == place).unwrap();
                assert!(filter.matches(tag), "{place} ran {kind}");
            }
        }
    }
    for node in nodes {
        node.stop().await;
    }
}

/// One filter at a time: matching activities run, and the others wait for a node that accepts all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn activities_that_a_filter_rejects_wait_for_other_nodes() {
    let filters = [
        (TagFilter::default_only(), vec!["-"]),
        (TagFilter::tags(["gpu"]), vec!["gpu"]),
        (TagFilter::default_and(["cpu"]), vec!["-", "cpu"]),
        (TagFilter::any(), vec!["-", "gpu", "cpu"]),
        (TagFilter::none(), vec![]),
    ];
    for (filter, accepts) in filters {
        let store = memory().await;
        let first = node(&store, "first", filter.clone()).await;
        for kind in TAGS.map(|tag| tag.unwrap_or("-")) {
            first.start_instance(kind, "Fan", kind).await;
        }
        for kind in &accepts {
            let output = first.output(kind).await;
            assert_eq!(places(&output)[kind], BTreeSet::from(["first"]));
        }
        for kind in ["-", "gpu", "cpu"].iter().filter(|kind| !accepts.contains(kind)) {
            first.wait_for_event(kind, "ActivityScheduled").await;
            let left = first.client.wait_for_orchestration(kind, Duration::ZERO).await;
            assert!(left.is_err(), "{filter:?} accepted {kind}: {left:?}");
        }
        let second = node(&store, "second", TagFilter::any()).await;
        for kind in ["-", "gpu", "cpu"].iter().filter(|kind| !accepts.contains(kind)) {
            let output = second.output(kind).await;
            assert_eq!(places(&output)[kind], BTreeSet::from(["second"]), "{filter:?}");
        }
        first.stop().await;
        second.stop().await;
    }
}
