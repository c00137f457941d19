//! A cancellation ends an instance that no live node can run.
//!
//! Nodes search for them when they start, and every ten seconds.

use duroxide::check::Checker;
use duroxide::{Event, OrchestrationContext, OrchestrationRegistry};

use crate::cluster::Cluster;
use crate::terminating::{code, pin};

on_every_store!(
    a_cancelled_tree_ends_as_if_a_node_had_its_code,
    a_parent_gets_the_failure_of_a_cancelled_child,
    a_start_that_no_node_has_registered_is_cancelled,
    a_continuation_that_no_node_has_registered_is_cancelled,
    an_instance_that_no_node_can_replay_is_cancelled,
    a_cancellation_behind_many_messages_is_found,
    a_suspended_instance_that_no_node_can_run_is_cancelled,
    several_nodes_end_each_cancelled_instance_once,
    a_running_node_finds_a_cancellation,
);

/// More than a turn takes.
const MESSAGES_MANY: usize = 1_100;

/// A history without what differs between two trees that do the same.
async fn shape(cluster: &Cluster, instance: &str) -> Vec<String> {
    let history = cluster.history(instance).await;
    let shape = |event: &Event| {
        let text = format!("{} {:?} {:?}", event.event_id, event.source_event_id, event.kind);
        text.replace("twin", "stranded")
    };
    history.iter().map(shape).collect()
}

async fn a_cancelled_tree_ends_as_if_a_node_had_its_code(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    for root in ["stranded", "twin"] {
        cluster.start(root, "Branch", "2").await;
        cluster.until_size(root, 7).await;
    }
    cluster.until("the activities", || async { cluster.activities_waiting().await == 8 }).await;
    cluster.client.cancel_instance("twin", "withdrawn").await.unwrap();
    assert_eq!(cluster.failure("twin").await, "canceled: withdrawn");
    let is_over = || async { cluster.running().await.len() == 7 };
    cluster.until("the tree of the twin has ended", is_over).await;
    node.shutdown(None).await;

    cluster.client.cancel_instance("stranded", "withdrawn").await.unwrap();
    let stranger = cluster.stranger().await;
    assert_eq!(cluster.failure("stranded").await, "canceled: withdrawn");
    let is_over = || async { cluster.running().await.is_empty() };
    cluster.until("the stranded tree has ended", is_over).await;
    cluster.until("no message is left", || async { cluster.messages().await == 0 }).await;
    assert_eq!(cluster.activities_waiting().await, 0, "the activities are cancelled");
    let tree = cluster.client.get_instance_tree("stranded").await.unwrap();
    for instance in &tree.all_ids {
        let twin = instance.replacen("stranded", "twin", 1);
        assert_eq!(shape(&cluster, instance).await, shape(&cluster, &twin).await, "{instance}");
        let [info, other] =
            [instance.as_str(), &twin].map(|id| cluster.client.get_instance_info(id));
        let (info, other) = (info.await.unwrap(), other.await.unwrap());
        assert_eq!((info.status, info.output), (other.status, other.output));
    }
    stranger.shutdown(None).await;
    let checker = Checker::new(code()).with_finished(true);
    let report = checker.check_store(cluster.provider.as_ref()).await.unwrap();
    assert!(report.problems.is_empty(), "{report}");
}

async fn a_parent_gets_the_failure_of_a_cancelled_child(cluster: Cluster) {
    let node = cluster.runtime(code()).await;
    cluster.start("caller", "Call", "").await;
    cluster.until_kind("callee", "ExternalSubscribed").await;
    node.shutdown(None).await;
    cluster.client.cancel_instance("callee", "why").await.unwrap();
    let call = |ctx: OrchestrationContext, _: String| async move {
        let child = ctx.schedule_sub_orchestration_with_id("Wait", "callee", "");
        Ok(child.await.unwrap_or_else(|error| format!("child: {error}")))
    };
    let caller = OrchestrationRegistry::builder().register("Call", call).build();
    let node = cluster.runtime(caller).await;
    assert_eq!(cluster.output("caller").await, "child: canceled: why");
    let expected = [
        "OrchestrationStarted",
        "ExternalSubscribed",
        "OrchestrationCancelRequested",
        "ExternalSubscribedCancelled",
        "OrchestrationFailed",
    ];
    assert_eq!(cluster.kinds("callee").await, expected);
    node.shutdown(None).await;
}

async fn a_start_that_no_node_has_registered_is_cancelled(cluster: Cluster) {
    cluster.start("new", "Nowhere", "input").await;
    cluster.client.cancel_instance("new", "a typing error").await.unwrap();
    let stranger = cluster.stranger().await;
    assert_eq!(cluster.failure("new").await, "canceled: a typing error");
    let info = cluster.client.get_instance_info("new").await.unwrap();
    assert_eq!((info.orchestration_name.as_str(), info.status.as_str()), ("Nowhere", "Failed"));
    stranger.shutdown(None).await;
}

async fn a_continuation_that_no_node_has_registered_is_cancelled(cluster: Cluster) {
    let chain = |ctx: OrchestrationContext, _: String| async move {
        ctx.continue_as_new_versioned("9.9.9", "").await
    };
    let code = || OrchestrationRegistry::builder().register("Chain", chain).build();
    let node = cluster.runtime(code()).await;
    cluster.start("chain", "Chain", "").await;
    cluster.until_kind("chain", "OrchestrationContinuedAsNew").await;
    node.shutdown(None).await;
    cluster.client.cancel_instance("chain", "why").await.unwrap();
    let node = cluster.runtime(code()).await;
    assert_eq!(cluster.failure("chain").await, "canceled: why");
    let history = cluster.client.read_execution_history("chain", 2).await.unwrap();
    let kinds: Vec<&str> = history.iter().map(|event| event.kind.type_tag()).collect();
    let expected = ["OrchestrationStarted", "OrchestrationCancelRequested", "OrchestrationFailed"];
    assert_eq!(kinds, expected);
    let info = cluster.client.get_instance_info("chain").await.unwrap();
    assert_eq!((info.current_execution_id, info.status.as_str()), (2, "Failed"));
    assert_eq!(info.orchestration_version, "9.9.9");
    node.shutdown(None).await;
}

async fn an_instance_that_no_node_can_replay_is_cancelled(cluster: Cluster) {
    pin(&cluster, "future", "9.9.0").await;
    cluster.client.cancel_instance("future", "rolled back").await.unwrap();
    let node = cluster.runtime(code()).await;
    assert_eq!(cluster.failure("future").await, "canceled: rolled back");
    let expected = ["OrchestrationStarted", "OrchestrationCancelRequested", "OrchestrationFailed"];
    assert_eq!(cluster.kinds("future").await, expected);
    node.shutdown(None).await;
}

async fn a_cancellation_behind_many_messages_is_found(cluster: Cluster) {
    pin(&cluster, "future", "9.9.0").await;
    for _ in 0..MESSAGES_MANY {
        cluster.client.raise_event("future", "other", "").await.unwrap();
    }
    cluster.client.cancel_instance("future", "why").await.unwrap();
    let node = cluster.runtime(code()).await;
    assert_eq!(cluster.failure("future").await, "canceled: why");
    cluster.until("no message is left", || async { cluster.messages().await == 0 }).await;
    node.shutdown(None).await;
}

async fn a_suspended_instance_that_no_node_can_run_is_cancelled(cluster: Cluster) {
    for instance in ["cancelled", "suspended"] {
        pin(&cluster, instance, "9.9.0").await;
        cluster.client.suspend_instance(instance, "maintenance").await.unwrap();
        cluster.client.raise_event(instance, "go", "").await.unwrap();
    }
    cluster.client.cancel_instance("cancelled", "why").await.unwrap();
    let node = cluster.runtime(code()).await;
    assert_eq!(cluster.failure("cancelled").await, "canceled: why");
    assert_eq!(cluster.client.get_suspension("cancelled").await.unwrap(), None);
    assert!(cluster.client.get_suspension("suspended").await.unwrap().is_some());
    assert_eq!(cluster.running().await, ["suspended"]);
    node.shutdown(None).await;
}

async fn several_nodes_end_each_cancelled_instance_once(cluster: Cluster) {
    let instances: Vec<String> = (0..40).map(|n| format!("order-{n}")).collect();
    for instance in &instances {
        cluster.start(instance, "Nowhere", "").await;
        cluster.client.cancel_instance(instance.as_str(), "why").await.unwrap();
    }
    let (one, two, three) =
        tokio::join!(cluster.stranger(), cluster.stranger(), cluster.stranger());
    for instance in &instances {
        assert_eq!(cluster.failure(instance).await, "canceled: why");
        let expected =
            ["OrchestrationStarted", "OrchestrationCancelRequested", "OrchestrationFailed"];
        assert_eq!(cluster.kinds(instance).await, expected);
    }
    for node in [one, two, three] {
        node.shutdown(None).await;
    }
}

async fn a_running_node_finds_a_cancellation(cluster: Cluster) {
    let stranger = cluster.stranger().await;
    cluster.start("first", "Nowhere", "").await;
    cluster.client.cancel_instance("first", "why").await.unwrap();
    assert_eq!(cluster.failure("first").await, "canceled: why");
    stranger.shutdown(None).await;
}
