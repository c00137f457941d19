//! Versions of orchestrations, and pins of executions to versions of Duroxide.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{DispatcherCapabilityFilter, Provider, ProviderAdmin, WorkItem};
use duroxide::runtime::registry::{OrchestrationRegistryBuilder, VersionPolicy};
use duroxide::runtime::{RuntimeOptions, UnregisteredWork};
use duroxide::{
    ErrorDetails, Event, EventKind, OrchestrationContext, PoisonMessageType, SemverRange,
    current_build_version,
};
use semver::Version;

use crate::faulty::{Faulty, RELEASED};
use crate::support::{
    DEFAULT_MODE, Database, Mode, Node, activities, count, eventually, in_every_mode, kinds,
    memory, memory_with_clock, orchestrations, short_backoff,
};

const SECOND: Duration = Duration::from_secs(1);

async fn returns_version(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.orchestration_version())
}

async fn waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let version = ctx.orchestration_version();
    Ok(format!("{version} {}", ctx.schedule_wait("Go").await))
}

fn three_versions() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register_versioned("V", "1.0.0", returns_version)
        .register_versioned("V", "1.2.0", returns_version)
        .register_versioned("V", "1.10.0", returns_version)
}

pub(crate) fn range(min: &str, max: &str) -> Option<SemverRange> {
    Some(SemverRange::new(Version::parse(min).unwrap(), Version::parse(max).unwrap()))
}

/// Records an instance that another version started and that waits for a signal.
pub(crate) async fn recorded_by(store: &Arc<dyn Provider>, instance: &str, build: &str) {
    store.enqueue_for_orchestrator(start_of(instance), None).await.unwrap();
    let (_, token, _) = store
        .fetch_orchestration_item(Duration::from_secs(5), Duration::ZERO, None)
        .await
        .unwrap()
        .unwrap();
    let event = |id, kind| {
        let mut event = Event::with_event_id(id, instance, 1, None, kind);
        event.duroxide_version = build.to_owned();
        event
    };
    let start = EventKind::OrchestrationStarted {
        name: "Wait".to_owned(),
        version: "1.0.0".to_owned(),
        input: String::new(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    let waits = EventKind::ExternalSubscribed { name: "Go".to_owned() };
    let metadata = duroxide::providers::ExecutionMetadata {
        orchestration_name: Some("Wait".to_owned()),
        orchestration_version: Some("1.0.0".to_owned()),
        pinned_duroxide_version: Version::parse(build).ok(),
        ..Default::default()
    };
    let events = vec![event(1, start), event(2, waits)];
    store
        .ack_orchestration_item(&token, 1, events, vec![], vec![], metadata, vec![])
        .await
        .unwrap();
}

fn start_of(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Wait".to_owned(),
        input: String::new(),
        version: None,
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

fn admin(node: &Node) -> &dyn ProviderAdmin {
    node.store.as_management_capability().unwrap()
}

async fn policies_decide_new_starts_and_exact_versions_win(mode: Mode) {
    let registry = three_versions();
    let node = Node::start(mode, registry, activities()).await;
    assert_eq!(node.run("latest", "V", "").await, "1.10.0");
    node.client.start_orchestration_versioned("exact", "V", "1.2.0", "").await.unwrap();
    assert_eq!(node.output("exact").await, "1.2.0");
    node.stop().await;
    let pinned = three_versions().set_policy("V", VersionPolicy::Exact(Version::new(1, 0, 0)));
    let node = Node::start(mode, pinned, activities()).await;
    assert_eq!(node.run("pinned", "V", "").await, "1.0.0");
    assert_eq!(
        node.client.get_instance_info("pinned").await.unwrap().orchestration_version,
        "1.0.0"
    );
    node.stop().await;
}

/// A new version does not affect a running instance.
async fn a_running_instance_keeps_its_version(mode: Mode) {
    let store = memory().await;
    let old = orchestrations().register_versioned("V", "1.0.0", waits);
    let node = Node::on(&store, mode.options(), old, activities()).await;
    node.start_instance("kept", "V", "").await;
    node.wait_for_event("kept", "ExternalSubscribed").await;
    node.stop().await;
    let new = orchestrations().register_versioned("V", "1.0.0", waits).register_versioned(
        "V",
        "2.0.0",
        returns_version,
    );
    let node = Node::on(&store, mode.options(), new, activities()).await;
    node.client.raise_event("kept", "Go", "on").await.unwrap();
    assert_eq!(node.output("kept").await, "1.0.0 on");
    assert_eq!(node.run("new", "V", "").await, "2.0.0");
    node.stop().await;
}

async fn an_unregistered_version_waits_and_becomes_poison(mode: Mode) {
    for version in ["7.0.0", "7.0.0-rc.1"] {
        let options = RuntimeOptions {
            max_attempts: 2,
            unregistered_backoff: short_backoff(),
            ..mode.options()
        };
        let node = Node::on(&memory().await, options, three_versions(), activities()).await;
        node.client.start_orchestration_versioned("lost", "V", version, "in").await.unwrap();
        let text = node.failure_text("lost").await;
        let expected = "poison: orchestration lost exceeded 3 attempts (max 2): ";
        assert!(text.starts_with(expected), "{text}");
        match &node.history("lost").await[0].kind {
            EventKind::OrchestrationStarted { version: recorded, input, .. } => {
                assert_eq!((recorded.as_str(), input.as_str()), (version, "in"));
            }
            other => panic!("{other:?}"),
        }
        let deleted = node.client.delete_instance("lost", false).await.unwrap();
        assert_eq!(deleted.instances_deleted, 1);
        node.stop().await;
    }
}

in_every_mode! {
    policies_decide_new_starts_and_exact_versions_win,
    a_running_instance_keeps_its_version,
    an_unregistered_version_waits_and_becomes_poison,
}

#[tokio::test]
async fn an_unregistered_orchestration_backs_off_until_a_node_has_its_handler() {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let options = DEFAULT_MODE.options().with_unregistered_work(UnregisteredWork::Backoff);
    let without = Node::on(&store, options, orchestrations(), activities()).await;
    without.start_instance("waits", "V", "").await;
    eventually(|| faulty.calls(RELEASED) == 1).await;
    without.stop().await;
    let with = Node::on(&store, DEFAULT_MODE.options(), three_versions(), activities()).await;
    clock.advance(SECOND);
    assert_eq!(with.output("waits").await, "1.10.0");
    with.stop().await;
}

/// Both nodes are live all the time. Neither fetches what the other has to run.
async fn work_goes_only_to_nodes_that_have_its_handler(mode: Mode) {
    async fn upgrades(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.continue_as_new_versioned("2.0.0", "").await
    }
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let old = orchestrations().register_versioned("V", "1.0.0", waits).register("Up", upgrades);
    let old = Node::on(&store, mode.options(), old, activities()).await;
    // Each is started by the node that cannot run it.
    old.client.start_orchestration_versioned("exact", "V", "2.0.0", "").await.unwrap();
    old.client.start_orchestration("other", "Other", "").await.unwrap();
    old.start_instance("up", "Up", "").await;
    old.client.start_orchestration_versioned("first", "V", "1.0.0", "").await.unwrap();
    old.wait_for_event("first", "ExternalSubscribed").await;
    let new = orchestrations()
        .register_versioned("V", "2.0.0", returns_version)
        .register_versioned("Up", "2.0.0", returns_version)
        .register("Other", returns_version);
    let new = Node::on(&store, mode.options(), new, activities()).await;
    for (instance, expected) in [("exact", "2.0.0"), ("other", "1.0.0"), ("up", "2.0.0")] {
        assert_eq!(old.output(instance).await, expected);
    }
    new.client.raise_event("first", "Go", "on").await.unwrap();
    assert_eq!(new.output("first").await, "1.0.0 on");
    assert_eq!(faulty.calls(RELEASED), 0, "no turn went to a node that could not run it");
    old.stop().await;
    new.stop().await;
}

in_every_mode! {
    work_goes_only_to_nodes_that_have_its_handler,
}

#[tokio::test]
async fn each_execution_is_pinned_to_the_version_that_started_it() {
    async fn again(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.schedule_wait("Go").await;
        ctx.continue_as_new("").await
    }
    let store = memory().await;
    recorded_by(&store, "old", "0.1.31").await;
    let registry = orchestrations().register("Wait", again);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    let build = current_build_version().to_string();
    assert_eq!(spread(&node).await, [("0.1.31".to_owned(), 1)]);
    node.client.raise_event("old", "Go", "").await.unwrap();
    node.wait_for_history("old", |history| history[0].execution_id == 2).await;
    assert_eq!(spread(&node).await, [(build.clone(), 1)]);
    assert_eq!(node.history("old").await[0].duroxide_version, build);
    node.stop().await;
}

async fn spread(node: &Node) -> Vec<(String, u64)> {
    let direct = admin(node).get_running_duroxide_version_spread().await.unwrap();
    let listed = node.client.get_running_duroxide_version_spread().await.unwrap();
    assert_eq!(direct, listed);
    listed.into_iter().collect()
}

#[tokio::test]
async fn a_node_claims_only_executions_that_it_can_replay() {
    let store = memory().await;
    for (instance, build) in [("old", "0.1.20"), ("middle", "0.1.31"), ("future", "99.0.0")] {
        recorded_by(&store, instance, build).await;
    }
    let registry = || orchestrations().register("Wait", waits);
    let default = Node::on(&store, DEFAULT_MODE.options(), registry(), activities()).await;
    for instance in ["future", "old"] {
        default.client.raise_event(instance, "Go", "on").await.unwrap();
    }
    assert_eq!(default.output("old").await, "1.0.0 on");
    assert_eq!(count(&default.history("future").await, "ExternalEvent"), 0);
    default.stop().await;

    let narrow = RuntimeOptions {
        supported_replay_versions: range("0.1.30", "0.1.31"),
        ..DEFAULT_MODE.options()
    };
    let narrow = Node::on(&store, narrow, registry(), activities()).await;
    narrow.client.raise_event("middle", "Go", "on").await.unwrap();
    assert_eq!(narrow.output("middle").await, "1.0.0 on");
    narrow.stop().await;

    let wide = RuntimeOptions {
        supported_replay_versions: range("0.0.0", "99.99.99"),
        ..DEFAULT_MODE.options()
    };
    let wide = Node::on(&store, wide, registry(), activities()).await;
    assert_eq!(wide.output("future").await, "1.0.0 on");
    wide.stop().await;
}

#[tokio::test]
async fn a_node_claims_the_executions_of_all_its_ranges_and_none_between_them() {
    let store = memory().await;
    for (instance, build) in [("gap", "2.0.0"), ("below", "1.5.0"), ("above", "3.0.0")] {
        recorded_by(&store, instance, build).await;
    }
    let options = DEFAULT_MODE
        .options()
        .with_supported_replay_versions(range("1.0.0", "1.9.9").unwrap())
        .with_further_replay_versions(range("3.0.0", "3.0.0"));
    let registry = orchestrations().register("Wait", waits);
    let node = Node::on(&store, options, registry, activities()).await;
    for instance in ["gap", "below", "above"] {
        node.client.raise_event(instance, "Go", "on").await.unwrap();
    }
    assert_eq!(node.output("below").await, "1.0.0 on");
    assert_eq!(node.output("above").await, "1.0.0 on");
    // Messages are claimed in their order: the oldest one would have been the first.
    assert_eq!(count(&node.history("gap").await, "ExternalEvent"), 0);
    assert_eq!(node.client.get_queue_depths().await.unwrap().orchestrator_queue, 1);
    node.stop().await;
}

#[tokio::test]
async fn the_store_honours_all_disjoint_ranges() {
    let store = memory().await;
    for (instance, build) in [("a", "1.0.0"), ("b", "2.0.0"), ("c", "3.0.0")] {
        recorded_by(&store, instance, build).await;
    }
    let client = duroxide::Client::new(store.clone());
    for instance in ["a", "b", "c"] {
        client.raise_event(instance, "Go", "").await.unwrap();
    }
    let ranges = [range("1.0.0", "1.9.9"), range("3.0.0", "3.0.0")];
    let filter = DispatcherCapabilityFilter {
        supported_duroxide_versions: ranges.into_iter().flatten().collect(),
    };
    let mut claimed = Vec::new();
    while let Some((item, _, _)) = store
        .fetch_orchestration_item(Duration::from_secs(5), Duration::ZERO, Some(&filter))
        .await
        .unwrap()
    {
        claimed.push(item.instance);
    }
    assert_eq!(claimed, ["a", "c"]);
}

#[tokio::test]
async fn an_incompatible_execution_that_is_fetched_anyway_becomes_poison() {
    let (store, clock) = memory_with_clock().await;
    recorded_by(&store, "future", "99.0.0").await;
    let faulty = Faulty::new(store);
    faulty.ignore_filter();
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions { max_attempts: 2, ..DEFAULT_MODE.options() };
    let registry = orchestrations().register("Wait", waits);
    let node = Node::on(&store, options, registry, activities()).await;
    node.client.raise_event("future", "Go", "on").await.unwrap();
    for abandoned in 1..=2 {
        eventually(|| faulty.calls(RELEASED) == abandoned).await;
        assert_eq!(kinds(&node.history("future").await).len(), 2, "no code ran");
        clock.advance(SECOND);
    }
    let text = node.failure_text("future").await;
    let expected = "poison: orchestration future exceeded 3 attempts (max 2): it is pinned at \
                    version 99.0.0, and this node replays ";
    assert!(text.starts_with(expected), "{text}");
    let metrics = node.runtime.observability_handle().unwrap().metrics_provider();
    assert_eq!(metrics.get_incompatible_version_abandoned(), 2);
    assert_eq!(node.stop_and_count().await.orch_poison, 1);
}

#[tokio::test]
async fn an_undecodable_history_is_abandoned_and_becomes_poison() {
    let file = Database::new();
    let (store, clock) = file.open().await;
    recorded_by(&store, "broken", &current_build_version().to_string()).await;
    file.execute("UPDATE history SET event_data = '{' WHERE event_id = 2");
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions { max_attempts: 2, ..DEFAULT_MODE.options() };
    let registry = orchestrations().register("Wait", waits);
    let node = Node::on(&store, options, registry, activities()).await;
    node.client.raise_event("broken", "Go", "on").await.unwrap();
    for abandoned in 1..=2 {
        eventually(|| faulty.calls(RELEASED) == abandoned).await;
        clock.advance(SECOND);
    }
    match node.failure("broken").await {
        ErrorDetails::Poison {
            attempt_count: 3,
            max_attempts: 2,
            message_type: PoisonMessageType::FailedDeserialization { instance, .. },
            ..
        } => assert_eq!(instance, "broken"),
        other => panic!("{other:?}"),
    }
    let added = file.number("SELECT max(event_id) + 100000 * count(*) FROM history");
    assert_eq!(added, 99_999 + 300_000, "event 99999 is the only one added to two");
    // The instance is terminal although its history is still undecodable: messages are discarded.
    node.client.raise_event("broken", "Go", "late").await.unwrap();
    node.wait_until_drained().await;
    node.stop().await;
}

/// A node with a wide range drains executions that no other node claims, even undecodable ones.
#[tokio::test]
async fn a_wide_range_drains_executions_that_no_other_node_claims() {
    let file = Database::new();
    let (store, clock) = file.open().await;
    recorded_by(&store, "future", "99.0.0").await;
    file.execute(
        "UPDATE history SET event_data = replace(event_data, 'ExternalSubscribed', 'Unknown')",
    );
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let registry = || orchestrations().register("Wait", waits);
    let options = RuntimeOptions { max_attempts: 1, ..DEFAULT_MODE.options() };
    let usual = Node::on(&store, options.clone(), registry(), activities()).await;
    usual.client.raise_event("future", "Go", "on").await.unwrap();
    assert_eq!(usual.client.get_queue_depths().await.unwrap().orchestrator_queue, 1);
    usual.stop().await;
    let wide = RuntimeOptions { supported_replay_versions: range("0.0.0", "99.99.99"), ..options };
    let wide = Node::on(&store, wide, registry(), activities()).await;
    eventually(|| faulty.calls(RELEASED) == 1).await;
    clock.advance(SECOND);
    let text = wide.failure_text("future").await;
    assert!(text.contains("history deserialization failed after 2 attempts (max 1)"), "{text}");
    wide.stop().await;
}

/// Its rules are unknown or not implemented: a replay could decide otherwise than the release did.
#[tokio::test]
async fn an_execution_of_an_unknown_release_is_not_replayed() {
    for (build, range_max) in [("0.1.13", "0.1.14"), ("0.1.33", "0.2.0")] {
        let (store, clock) = memory_with_clock().await;
        recorded_by(&store, "unknown", build).await;
        let faulty = Faulty::new(store);
        let store: Arc<dyn Provider> = faulty.clone();
        let registry = || orchestrations().register("Wait", waits);
        // Even a node whose range includes it does not.
        let options = RuntimeOptions {
            max_attempts: 1,
            supported_replay_versions: range("0.0.0", range_max),
            ..DEFAULT_MODE.options()
        };
        let node = Node::on(&store, options, registry(), activities()).await;
        node.client.raise_event("unknown", "Go", "on").await.unwrap();
        eventually(|| faulty.calls(RELEASED) == 1).await;
        clock.advance(SECOND);
        let text = node.failure_text("unknown").await;
        let reason = format!("it is pinned at version {build}, and this release replays histories");
        assert!(text.contains(&reason), "{text}");
        node.stop().await;
    }
}

#[test]
fn the_default_range_begins_with_the_oldest_history_that_can_be_replayed() {
    let default = SemverRange::default_for_current_build();
    assert_eq!(default, range("0.1.14", &current_build_version().to_string()).unwrap());
}
