//! The client: waiting, inspection and retention.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::{Provider, ProviderError};
use duroxide::{
    Client, ClientError, InstanceFilter, OrchestrationContext, OrchestrationStatus, PruneOptions,
};
use serde::Serialize;

use crate::faulty::Faulty;
use crate::support::{
    DEFAULT_MODE, NOW_MS, Node, TIMEOUT, activities, eventually, kinds, memory, memory_with_clock,
    orchestrations,
};

async fn echo(_: OrchestrationContext, input: String) -> Result<String, String> {
    Ok(input)
}

async fn waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("Go").await)
}

async fn parent(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.schedule_sub_orchestration_with_id("Echo", format!("child of {input}"), input).await
}

/// Continues as new until its input is zero.
async fn counts(ctx: OrchestrationContext, number: String) -> Result<String, String> {
    match number.parse::<u32>().unwrap() {
        0 => Ok("done".to_owned()),
        left => ctx.continue_as_new((left - 1).to_string()).await,
    }
}

async fn node_with_clock() -> (Node, Arc<duroxide::providers::ManualClock>) {
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations()
        .register("Echo", echo)
        .register("Wait", waits)
        .register("Parent", parent)
        .register("Count", counts);
    (Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await, clock)
}

#[tokio::test]
async fn instances_are_listed_newest_first_with_real_times() {
    let (node, clock) = node_with_clock().await;
    for instance in ["first", "second"] {
        node.run(instance, "Echo", instance).await;
        clock.advance(Duration::from_secs(1));
    }
    node.start_instance("third", "Wait", "").await;
    node.wait_for_event("third", "ExternalSubscribed").await;
    let client = &node.client;
    assert!(client.has_management_capability());
    assert_eq!(client.list_all_instances().await.unwrap(), ["third", "second", "first"]);
    let completed = client.list_instances_by_status("Completed").await.unwrap();
    assert_eq!(completed, ["second", "first"]);
    assert_eq!(client.list_instances_by_status("Running").await.unwrap(), ["third"]);

    let info = client.get_instance_info("second").await.unwrap();
    assert_eq!((info.orchestration_name.as_str(), info.status.as_str()), ("Echo", "Completed"));
    assert_eq!((info.output.as_deref(), info.current_execution_id), (Some("second"), 1));
    assert_eq!((info.created_at, info.updated_at), (NOW_MS + 1000, NOW_MS + 1000));
    assert_eq!(info.parent_instance_id, None);
    let execution = client.get_execution_info("second", 1).await.unwrap();
    assert_eq!(execution.started_at, NOW_MS + 1000);
    assert_eq!((execution.completed_at, execution.event_count), (Some(NOW_MS + 1000), 2));

    let totals = client.get_system_metrics().await.unwrap();
    assert_eq!((totals.total_instances, totals.total_executions), (3, 3));
    assert_eq!((totals.running_instances, totals.completed_instances), (1, 2));
    assert_eq!((totals.failed_instances, totals.total_events), (0, 6));
    node.stop().await;
}

#[tokio::test]
async fn unknown_instances_are_reported_as_unknown() {
    let (node, _clock) = node_with_clock().await;
    let client = &node.client;
    let text = |error: ClientError| error.to_string();
    let info = text(client.get_instance_info("unknown").await.unwrap_err());
    assert!(info.ends_with("Instance unknown not found"), "{info}");
    let execution = text(client.get_execution_info("unknown", 7).await.unwrap_err());
    assert!(execution.ends_with("Execution 7 not found for instance unknown"), "{execution}");
    assert!(client.list_executions("unknown").await.unwrap().is_empty());
    assert!(client.read_execution_history("unknown", 1).await.unwrap().is_empty());
    let tree = client.get_instance_tree("unknown").await.unwrap();
    assert!(tree.is_root_only() && tree.all_ids == ["unknown"]);
    assert_eq!(client.get_orchestration_stats("unknown").await.unwrap(), None);
    assert!(node.runtime.get_orchestration_descriptor("unknown").await.is_none());
    let deleted = client.delete_instance("unknown", true).await.unwrap_err();
    assert_eq!(text(deleted), "Instance unknown not found");
    assert!(client.prune_executions("unknown", PruneOptions::default()).await.is_err());
    node.stop().await;
}

#[tokio::test]
async fn a_tree_is_deleted_as_a_whole_and_only_from_its_root() {
    let (node, _clock) = node_with_clock().await;
    node.run("root", "Parent", "root").await;
    node.start_instance("running", "Wait", "").await;
    node.wait_for_event("running", "ExternalSubscribed").await;
    let client = &node.client;
    assert_eq!(client.get_instance_tree("root").await.unwrap().size(), 2);
    let child = client.delete_instance("child of root", true).await.unwrap_err();
    assert!(matches!(child, ClientError::CannotDeleteSubOrchestration { .. }), "{child:?}");
    let running = client.delete_instance("running", false).await.unwrap_err();
    assert!(matches!(running, ClientError::InstanceStillRunning { .. }), "{running:?}");

    let deleted = client.delete_instance("root", false).await.unwrap();
    assert_eq!((deleted.instances_deleted, deleted.executions_deleted), (2, 2));
    assert_eq!(deleted.events_deleted, 4 + 2);
    let status = client.get_orchestration_status("child of root").await.unwrap();
    assert_eq!(status, OrchestrationStatus::NotFound);
    assert_eq!(client.delete_instance("running", true).await.unwrap().instances_deleted, 1);
    node.stop().await;
}

/// An instance that is deleted and started again has nothing of the old one, warm or replayed.
#[tokio::test]
async fn a_deleted_instance_can_be_started_again() {
    let (node, _clock) = node_with_clock().await;
    for round in ["first", "second"] {
        node.start_instance("again", "Wait", "").await;
        node.wait_for_event("again", "ExternalSubscribed").await;
        if round == "first" {
            node.client.delete_instance("again", true).await.unwrap();
        }
    }
    node.client.raise_event("again", "Go", "on").await.unwrap();
    assert_eq!(node.output("again").await, "on");
    assert_eq!(node.history("again").await.len(), 4);
    node.stop().await;
}

#[tokio::test]
async fn instances_are_deleted_in_bulk_by_filter() {
    let (node, clock) = node_with_clock().await;
    for instance in ["a", "b", "c"] {
        node.run(instance, "Echo", "").await;
        clock.advance(Duration::from_secs(1));
    }
    node.start_instance("running", "Wait", "").await;
    node.wait_for_event("running", "ExternalSubscribed").await;
    let delete =
        async |filter| node.client.delete_instance_bulk(filter).await.unwrap().instances_deleted;
    let none = InstanceFilter { instance_ids: Some(vec![]), ..Default::default() };
    assert_eq!(delete(none).await, 0);
    let ids = Some(vec!["a".to_owned(), "running".to_owned()]);
    assert_eq!(delete(InstanceFilter { instance_ids: ids, ..Default::default() }).await, 1);
    let before = Some(NOW_MS + 2000);
    let old = InstanceFilter { completed_before: before, ..Default::default() };
    assert_eq!(delete(old).await, 1, "b; c completed exactly at that time");
    let one = InstanceFilter { limit: Some(1), ..Default::default() };
    assert_eq!(delete(one.clone()).await, 1);
    assert_eq!(delete(one).await, 0, "running instances are not deleted");
    assert_eq!(node.client.list_all_instances().await.unwrap(), ["running"]);
    node.stop().await;
}

#[tokio::test]
async fn pruning_deletes_old_executions_and_keeps_the_current_one() {
    let (node, _clock) = node_with_clock().await;
    for instance in ["one", "two"] {
        node.run(instance, "Count", "4").await;
    }
    let keep = |keep_last| PruneOptions { keep_last, ..Default::default() };
    let pruned = node.client.prune_executions("one", keep(Some(3))).await.unwrap();
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 2));
    assert_eq!(pruned.events_deleted, 4);
    assert_eq!(node.client.list_executions("one").await.unwrap(), [3, 4, 5]);
    let many = node.client.prune_executions_bulk(InstanceFilter::default(), keep(None));
    let many = many.await.unwrap();
    assert_eq!((many.instances_processed, many.executions_deleted), (2, 2 + 4));
    for instance in ["one", "two"] {
        assert_eq!(node.client.list_executions(instance).await.unwrap(), [5]);
        assert_eq!(node.output(instance).await, "done");
    }
    node.stop().await;
}

#[tokio::test]
async fn a_wait_is_notified_and_does_not_poll() {
    let store = memory().await;
    let registry = orchestrations().register("Wait", waits).register("Echo", echo);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    node.start_instance("watched", "Wait", "").await;
    node.wait_for_event("watched", "ExternalSubscribed").await;
    let counting = Faulty::new(store);
    let client = Client::new(counting.clone());
    let waiting =
        tokio::spawn(async move { client.wait_for_orchestration("watched", TIMEOUT).await });
    eventually(|| counting.calls("read_outcome") == 1).await;
    for number in 0..50 {
        node.run(&format!("other-{number}"), "Echo", "").await;
    }
    assert_eq!(counting.calls("read_outcome"), 1, "changes of other instances cause no read");
    node.client.raise_event("watched", "Go", "on").await.unwrap();
    let status = waiting.await.unwrap().unwrap();
    assert!(matches!(status, OrchestrationStatus::Completed { output, .. } if output == "on"));
    assert!(counting.calls("read_outcome") <= 3, "{}", counting.calls("read_outcome"));
    node.stop().await;
}

#[tokio::test]
async fn a_store_without_change_notifications_is_polled() {
    let faulty = Faulty::new(memory().await);
    faulty.never_tell();
    let store: Arc<dyn Provider> = faulty.clone();
    let registry = orchestrations().register("Echo", echo);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    assert_eq!(node.run("seen", "Echo", "x").await, "x");
    node.stop().await;
}

#[tokio::test]
async fn errors_name_their_cause() {
    struct Unserializable;
    impl Serialize for Unserializable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("cannot be serialized"))
        }
    }
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let registry = orchestrations().register("Echo", echo);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    let client = &node.client;

    let unserializable =
        client.start_orchestration_typed("x", "Echo", Unserializable).await.unwrap_err();
    assert_eq!(unserializable.to_string(), "Invalid input: encode: cannot be serialized");
    let raised = client.raise_event("any", "__duroxide_syscall:foreign_wake", "1").await;
    assert!(raised.unwrap_err().to_string().contains("reserved prefix"));
    for reserved in ["sub::1", "a::sub::2"] {
        let refused = client.start_orchestration(reserved, "Echo", "").await.unwrap_err();
        assert!(matches!(refused, ClientError::InvalidInput { .. }), "{refused:?}");
    }
    node.run("text", "Echo", "text").await;
    let number = client.wait_for_orchestration_typed::<u32>("text", TIMEOUT).await.unwrap_err();
    assert!(number.to_string().starts_with("Invalid input: decode failed: "), "{number}");

    faulty.fail("read_outcome", 1, ProviderError::permanent("read", "broken"));
    let broken = client.wait_for_orchestration("text", TIMEOUT).await.unwrap_err();
    assert_eq!((broken.to_string().as_str(), broken.is_retryable()), ("read: broken", false));
    faulty.hiccup("enqueue_for_orchestrator", 1);
    let busy = client.raise_event("text", "Go", "").await.unwrap_err();
    assert!(busy.is_retryable());
    // An error of the custom status does not hide the status.
    faulty.hiccup("get_custom_status", 1);
    let status = client.get_orchestration_status("text").await.unwrap();
    assert!(matches!(status, OrchestrationStatus::Completed { custom_status_version: 0, .. }));

    faulty.without_management();
    assert!(!client.has_management_capability());
    let none = client.list_all_instances().await.unwrap_err();
    assert!(matches!(none, ClientError::ManagementNotAvailable));
    node.stop().await;
}

#[tokio::test]
async fn a_version_can_be_started_with_a_typed_input() {
    async fn add(ctx: OrchestrationContext, pair: (u32, u32)) -> Result<String, String> {
        Ok(format!("{} {}", ctx.orchestration_version(), pair.0 + pair.1))
    }
    let registry = orchestrations()
        .register_versioned_typed("Add", "1.0.0", add)
        .register_versioned_typed("Add", "2.0.0", add);
    let node = Node::start(DEFAULT_MODE, registry, activities()).await;
    let started = node.client.start_orchestration_versioned_typed("sum", "Add", "1.0.0", (2, 3));
    started.await.unwrap();
    assert_eq!(node.output("sum").await, "1.0.0 5");
    let history = node.client.read_execution_history("sum", 1).await.unwrap();
    assert_eq!(kinds(&history), ["OrchestrationStarted", "OrchestrationCompleted"]);
    node.stop().await;
}
