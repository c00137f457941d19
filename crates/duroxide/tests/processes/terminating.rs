//! Operators end instances without their code.

use std::sync::Arc;
use std::time::Duration;

use duroxide::check::Checker;
use duroxide::providers::{ExecutionMetadata, ProviderErrorKind, TurnCommit, TurnFetch};
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{
    ActivityContext, ClientError, Event, EventKind, OrchestrationContext, OrchestrationRegistry,
    OrchestrationStatus,
};
use semver::Version;

use crate::cluster::Cluster;
use crate::journal::{POLL_INTERVAL, TIMEOUT};

on_every_store!(
    a_tree_ends_with_its_root,
    a_waiting_parent_gets_the_failure,
    a_tree_that_no_node_has_the_code_of_ends,
    an_instance_that_no_node_can_replay_ends,
    an_instance_ends_before_its_first_turn,
    a_suspended_instance_ends,
    a_termination_may_be_repeated,
    what_cannot_be_ended_is_refused,
    an_unrelated_instance_with_the_id_of_a_child_lives,
    many_calls_end_an_instance_that_never_rests,
    a_child_that_starts_meanwhile_ends_too,
);

/// A branch with `depth` levels of children below it; the lowest runs an activity.
async fn branch(ctx: OrchestrationContext, depth: String) -> Result<String, String> {
    let depth: u32 = depth.parse().map_err(|error| format!("{error}"))?;
    match depth.checked_sub(1) {
        None => ctx.schedule_activity("Stuck", "").await,
        Some(below) => {
            let one = ctx.schedule_sub_orchestration("Branch", below.to_string());
            let two = ctx.schedule_sub_orchestration("Branch", below.to_string());
            ctx.join(vec![one, two]).await.into_iter().collect::<Result<Vec<_>, _>>()?;
            Ok(String::new())
        }
    }
}

async fn wait(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("go").await)
}

/// Returns how its child ended.
async fn call(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let child = ctx.schedule_sub_orchestration_with_id("Wait", "callee", "");
    Ok(child.await.unwrap_or_else(|error| format!("child: {error}")))
}

/// Continues as new for ever.
async fn restless(ctx: OrchestrationContext, count: String) -> Result<String, String> {
    let count: u64 = count.parse().unwrap_or_default();
    ctx.continue_as_new((count + 1).to_string()).await
}

/// Starts a child at each message, and never looks at any.
async fn breed(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let mut children = Vec::new();
    loop {
        ctx.dequeue_event("more").await;
        children.push(ctx.schedule_sub_orchestration("Wait", ""));
    }
}

pub(crate) fn code() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Branch", branch)
        .register("Wait", wait)
        .register("Call", call)
        .register("Restless", restless)
        .register("Breed", breed)
        .build()
}

fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Stuck", |ctx: ActivityContext, _: String| async move {
            ctx.cancelled().await;
            Ok(String::new())
        })
        .build()
}

impl Cluster {
    pub(crate) async fn runtime(&self, code: OrchestrationRegistry) -> Arc<Runtime> {
        let options = RuntimeOptions::default();
        let store = Arc::clone(&self.provider);
        Runtime::start_with_options(store, activities(), code, options).await
    }

    /// A node that has none of this code.
    pub(crate) async fn stranger(&self) -> Arc<Runtime> {
        self.runtime(OrchestrationRegistry::builder().register("Other", wait).build()).await
    }

    pub(crate) async fn failure(&self, instance: &str) -> String {
        match self.client.wait_for_orchestration(instance, TIMEOUT).await {
            Ok(OrchestrationStatus::Failed { details, .. }) => details.display_message(),
            other => panic!("{instance} did not fail: {other:?}"),
        }
    }

    /// Waits for something that no notification tells of.
    pub(crate) async fn until<F: Future<Output = bool>>(
        &self,
        what: &str,
        is_true: impl Fn() -> F,
    ) {
        let polled = async {
            while !is_true().await {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let polled = tokio::time::timeout(TIMEOUT, polled).await;
        polled.unwrap_or_else(|_elapsed| panic!("never true: {what}"));
    }

    pub(crate) async fn running(&self) -> Vec<String> {
        self.client.list_instances_by_status("Running").await.unwrap()
    }

    pub(crate) async fn messages(&self) -> usize {
        self.client.get_queue_depths().await.unwrap().orchestrator_queue
    }

    pub(crate) async fn until_size(&self, root: &str, size: usize) {
        self.until("the tree has grown", || async {
            self.client.get_instance_tree(root).await.unwrap().size() == size
        })
        .await;
    }

    pub(crate) async fn activities_waiting(&self) -> usize {
        self.client.get_queue_depths().await.unwrap().worker_queue
    }
}

async fn a_tree_ends_with_its_root(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    cluster.start("root", "Branch", "2").await;
    cluster.until_size("root", 7).await;
    cluster.until("four activities", || async { cluster.activities_waiting().await == 4 }).await;
    let waiting = cluster.client.wait_for_orchestration("root", TIMEOUT);
    let terminating = cluster.client.terminate_instance("root", "enough");
    let (status, terminated) = tokio::join!(waiting, terminating);
    terminated.unwrap();
    assert!(matches!(status.unwrap(), OrchestrationStatus::Failed { .. }), "waiting clients wake");
    assert_eq!(cluster.failure("root").await, "canceled: enough");
    assert_eq!(cluster.running().await, Vec::<String>::new());
    for child in &cluster.client.get_instance_tree("root").await.unwrap().all_ids[1..] {
        let failure = cluster.failure(child).await;
        assert!(failure.starts_with("canceled: parent "), "{child}: {failure}");
    }
    assert_eq!(cluster.activities_waiting().await, 0, "the activities are cancelled");
    cluster.until("the queue is drained", || async { cluster.messages().await == 0 }).await;
    node.shutdown(None).await;
    let checker = Checker::new(code()).with_finished(true);
    let report = checker.check_store(cluster.provider.as_ref()).await.unwrap();
    assert!(report.problems.is_empty(), "{report}");
}

async fn a_waiting_parent_gets_the_failure(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    cluster.start("caller", "Call", "").await;
    cluster.until_size("caller", 2).await;
    cluster.client.terminate_instance("callee", "why").await.unwrap();
    assert_eq!(cluster.output("caller").await, "child: canceled: why");
    node.shutdown(None).await;
}

async fn a_tree_that_no_node_has_the_code_of_ends(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    cluster.start("root", "Branch", "1").await;
    cluster.until_size("root", 3).await;
    cluster.until("two activities", || async { cluster.activities_waiting().await == 2 }).await;
    node.shutdown(None).await;
    let stranger = cluster.stranger().await;
    cluster.client.raise_event("root", "late", "").await.unwrap();
    cluster.client.terminate_instance("root", "its code is gone").await.unwrap();
    assert_eq!(cluster.failure("root").await, "canceled: its code is gone");
    assert_eq!(cluster.running().await, Vec::<String>::new());
    assert_eq!(cluster.activities_waiting().await, 0);
    // What arrives afterwards needs no code either.
    cluster.client.raise_event("root", "later", "").await.unwrap();
    cluster.until("the queue is drained", || async { cluster.messages().await == 0 }).await;
    stranger.shutdown(None).await;
    cluster.client.delete_instance("root", false).await.unwrap();
}

/// Commits the first turn of an instance as a node of this version does.
pub(crate) async fn pin(cluster: &Cluster, instance: &str, version: &str) {
    cluster.start(instance, "Wait", "").await;
    let request = TurnFetch::new(1, Duration::from_secs(30));
    let turn = cluster.provider.fetch_orchestration_items(request).await.unwrap().remove(0);
    let kind = EventKind::OrchestrationStarted {
        name: "Wait".to_owned(),
        version: "1.0.0".to_owned(),
        input: String::new(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    let mut start = Event::with_event_id(1, instance, 1, None, kind);
    start.duroxide_version = version.to_owned();
    let metadata = ExecutionMetadata {
        orchestration_name: Some("Wait".to_owned()),
        orchestration_version: Some("1.0.0".to_owned()),
        pinned_duroxide_version: Some(Version::parse(version).unwrap()),
        ..ExecutionMetadata::default()
    };
    let commit =
        TurnCommit::new(turn.lock_token, 1).with_history_delta(vec![start]).with_metadata(metadata);
    cluster.provider.commit_turn(Arc::new(commit)).await.unwrap();
}

async fn an_instance_that_no_node_can_replay_ends(cluster: Cluster) {
    pin(&cluster, "future", "9.9.0").await;
    let node = cluster.runtime(code()).await;
    cluster.client.raise_event("future", "go", "").await.unwrap();
    cluster.client.terminate_instance("future", "rolled back").await.unwrap();
    assert_eq!(cluster.failure("future").await, "canceled: rolled back");
    cluster.client.raise_event("future", "go", "again").await.unwrap();
    cluster.until("the queue is drained", || async { cluster.messages().await == 0 }).await;
    let expected = ["OrchestrationStarted", "OrchestrationCancelRequested", "OrchestrationFailed"];
    assert_eq!(cluster.kinds("future").await, expected);
    node.shutdown(None).await;
}

async fn an_instance_ends_before_its_first_turn(cluster: Cluster) {
    cluster.start("new", "Nowhere", "input").await;
    cluster.client.terminate_instance("new", "a typing error").await.unwrap();
    assert_eq!(cluster.failure("new").await, "canceled: a typing error");
    let info = cluster.client.get_instance_info("new").await.unwrap();
    assert_eq!((info.orchestration_name.as_str(), info.status.as_str()), ("Nowhere", "Failed"));
    assert_eq!(cluster.messages().await, 0, "the start is gone");
    // No node starts it again.
    let node = cluster.runtime(code()).await;
    assert_eq!(cluster.failure("new").await, "canceled: a typing error");
    node.shutdown(None).await;
}

async fn a_suspended_instance_ends(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    cluster.start("a", "Wait", "").await;
    cluster.until_kind("a", "ExternalSubscribed").await;
    cluster.client.suspend_instance("a", "maintenance").await.unwrap();
    cluster.client.terminate_instance("a", "given up").await.unwrap();
    assert_eq!(cluster.failure("a").await, "canceled: given up");
    assert_eq!(cluster.client.get_suspension("a").await.unwrap(), None);
    node.shutdown(None).await;
}

async fn a_termination_may_be_repeated(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    cluster.start("a", "Wait", "").await;
    cluster.until_kind("a", "ExternalSubscribed").await;
    for _ in 0..2 {
        cluster.client.terminate_instance("a", "why").await.unwrap();
    }
    let expected = [
        "OrchestrationStarted",
        "ExternalSubscribed",
        "OrchestrationCancelRequested",
        "ExternalSubscribedCancelled",
        "OrchestrationFailed",
    ];
    assert_eq!(cluster.kinds("a").await, expected);
    node.shutdown(None).await;
}

async fn what_cannot_be_ended_is_refused(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    let unknown = cluster.client.terminate_instance("unknown", "why").await.unwrap_err();
    assert!(matches!(unknown, ClientError::InstanceNotFound { .. }), "{unknown:?}");
    cluster.start("a", "Wait", "").await;
    cluster.client.raise_event("a", "go", "done").await.unwrap();
    cluster.until_kind("a", "ExternalSubscribed").await;
    cluster.client.raise_event("a", "go", "done").await.unwrap();
    assert_eq!(cluster.output("a").await, "done");
    let ended = cluster.client.terminate_instance("a", "why").await.unwrap_err();
    let ClientError::Provider(error) = &ended else { panic!("{ended:?}") };
    assert_eq!(error.kind, ProviderErrorKind::Conflict);
    assert!(ended.to_string().contains("has ended: Completed"), "{ended}");
    node.shutdown(None).await;
}

/// An explicit id of a child may belong to an instance that another client has started.
async fn an_unrelated_instance_with_the_id_of_a_child_lives(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    cluster.start("callee", "Wait", "").await;
    cluster.until_kind("callee", "ExternalSubscribed").await;
    node.shutdown(None).await;
    // The node of the caller is gone before the refusal of its child arrives.
    let caller = OrchestrationRegistry::builder().register("Call", call).build();
    let node = cluster.runtime(caller).await;
    cluster.start("caller", "Call", "").await;
    cluster.until_kind("caller", "SubOrchestrationScheduled").await;
    cluster.client.terminate_instance("caller", "why").await.unwrap();
    assert_eq!(cluster.failure("caller").await, "canceled: why");
    node.shutdown(None).await;
    let node = cluster.runtime(code()).await;
    cluster.client.raise_event("callee", "go", "unharmed").await.unwrap();
    assert_eq!(cluster.output("callee").await, "unharmed");
    node.shutdown(None).await;
}

async fn many_calls_end_an_instance_that_never_rests(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    for instance in ["one", "two"] {
        cluster.start(instance, "Restless", "0").await;
        cluster
            .until("some executions", || async {
                cluster.client.list_executions(instance).await.unwrap().len() > 3
            })
            .await;
        let calls = (0..4).map(|_| {
            let client = cluster.client.clone();
            tokio::spawn(async move { client.terminate_instance(instance, "enough").await })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap().unwrap();
        }
        assert_eq!(cluster.failure(instance).await, "canceled: enough");
        let executions = cluster.client.list_executions(instance).await.unwrap();
        let last = *executions.last().unwrap();
        let history = cluster.client.read_execution_history(instance, last).await.unwrap();
        let failures = history
            .iter()
            .filter(|event| matches!(event.kind, EventKind::OrchestrationFailed { .. }));
        assert_eq!(failures.count(), 1, "{history:?}");
    }
    cluster.until("the queue is drained", || async { cluster.messages().await == 0 }).await;
    node.shutdown(None).await;
}

async fn a_child_that_starts_meanwhile_ends_too(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    for round in 0..4 {
        let root = format!("root-{round}");
        cluster.start(&root, "Breed", "").await;
        cluster.until_kind(&root, "OrchestrationStarted").await;
        for _ in 0..8 {
            cluster.client.enqueue_event(&root, "more", "").await.unwrap();
        }
        cluster.client.terminate_instance(&root, "enough").await.unwrap();
    }
    // A child whose start was sent and not yet run is ended as well.
    cluster.until("the queue is drained", || async { cluster.messages().await == 0 }).await;
    assert_eq!(cluster.running().await, Vec::<String>::new());
    node.shutdown(None).await;
}
