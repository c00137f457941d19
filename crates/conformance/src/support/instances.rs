//! Instances in a known state.

use std::time::Duration;

use duroxide_core::providers::{ExecutionMetadata, Provider, WorkItem};

use super::{Must, child_start_item, named, start_item, started};

const LEASE: Duration = Duration::from_secs(30);

/// A running instance with its start event.
pub(crate) async fn create_instance(provider: &dyn Provider, instance: &str) {
    create(provider, start_item(instance), named()).await;
}

/// A running instance whose result `parent` waits for.
pub(crate) async fn create_instance_with_parent(
    provider: &dyn Provider,
    instance: &str,
    parent: &str,
) {
    let metadata = ExecutionMetadata { parent_instance_id: Some(parent.to_owned()), ..named() };
    create(provider, child_start_item(instance, parent), metadata).await;
}

async fn create(provider: &dyn Provider, start: WorkItem, metadata: ExecutionMetadata) {
    let instance = start.target_instance().to_owned();
    provider.enqueue_for_orchestrator(start, None).await.must("enqueueing a start");
    let fetched = provider.fetch_orchestration_item(LEASE, Duration::ZERO, None).await;
    let (item, token, _) = fetched.must("fetching a start").expect("a start must be fetchable");
    assert_eq!(item.instance, instance, "the start just enqueued is the only visible message");
    let events = vec![started(&instance, 1)];
    provider
        .ack_orchestration_item(&token, 1, events, vec![], vec![], metadata, vec![])
        .await
        .must("the first commit of an instance");
}
