//! The outcome of an instance, read without its history.

use duroxide_core::providers::{InstanceOutcome, InstanceStatus};
use duroxide_core::{AppErrorKind, ErrorDetails, Event, EventKind};

use crate::ProviderFactory;
use crate::support::{Must, Store, commit, ended, event, signal, start_item, started};

/// The outcome. `read_status` must return the same outcome together with the custom status.
async fn outcome<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> InstanceOutcome {
    let outcome = store.provider.read_outcome("a").await.must("reading an outcome");
    let custom = store.provider.get_custom_status("a", 0).await.must("reading a custom status");
    let (custom_status, custom_status_version) = custom.unwrap_or((None, 0));
    let status = store.provider.read_status("a").await.must("reading a status");
    let custom_status = Ok(Some((custom_status, custom_status_version)));
    let parts = InstanceStatus::new(outcome.clone(), custom_status);
    assert_eq!(status, parts, "a status equals its parts");
    outcome
}

async fn start_event<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> Option<Event> {
    store.provider.read_start_event("a").await.must("reading a start event")
}

/// Commits one turn with this status to an execution.
async fn step<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    execution_id: u64,
    events: Vec<Event>,
    status: Option<&str>,
) {
    store.send(signal("a", "next")).await;
    let turn = store.turn_of("a").await;
    let metadata = status.map_or_else(crate::support::named, |status| ended(status, "out"));
    let next = commit(&turn, events).with_execution_id(execution_id).with_metadata(metadata);
    store.ack(next).await.must("a commit");
}

/// Unknown, running and completed instances differ, and the last event comes back as stored.
pub async fn an_outcome_follows_the_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    assert_eq!(outcome(&store).await, InstanceOutcome::NotFound);
    assert_eq!(start_event(&store).await, None);
    store.send(start_item("a")).await;
    assert_eq!(outcome(&store).await, InstanceOutcome::NotFound, "a start that is only enqueued");
    let turn = store.turn_of("a").await;
    let start = started("a", 1);
    store.ack(commit(&turn, vec![start.clone()])).await.must("a first commit");
    assert_eq!(outcome(&store).await, InstanceOutcome::Running);
    assert_eq!(start_event(&store).await, Some(start.clone()));
    let status_event = EventKind::CustomStatusUpdated { status: Some("half".to_owned()) };
    step(&store, 1, vec![event("a", 1, 2, status_event)], None).await;
    assert_eq!(outcome(&store).await, InstanceOutcome::Running);
    let status = store.provider.read_status("a").await.must("reading a status");
    assert_eq!(status.custom_status.as_deref(), Some("half"));
    let end = event("a", 1, 3, EventKind::OrchestrationCompleted { output: "done".to_owned() });
    step(&store, 1, vec![end.clone()], Some("Completed")).await;
    assert_eq!(outcome(&store).await, InstanceOutcome::Ended(Box::new(end)));
    assert_eq!(start_event(&store).await, Some(start), "the start stays readable");
}

/// A failure is the outcome even when other events follow it in its commit.
pub async fn an_outcome_reports_a_failure<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let details = ErrorDetails::Application {
        kind: AppErrorKind::OrchestrationFailed,
        message: "broken".to_owned(),
        retryable: false,
    };
    let end = event("a", 1, 2, EventKind::OrchestrationFailed { details });
    let cancelled = EventKind::ActivityCancelRequested { reason: "no longer wanted".to_owned() };
    let after = event("a", 1, 3, cancelled);
    step(&store, 1, vec![end.clone(), after], Some("Failed")).await;
    assert_eq!(outcome(&store).await, InstanceOutcome::Ended(Box::new(end)));
}

/// The outcome and the start event come from the latest execution.
pub async fn an_outcome_is_that_of_the_latest_execution<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let continued = EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() };
    step(&store, 1, vec![event("a", 1, 2, continued)], Some("ContinuedAsNew")).await;
    assert_eq!(outcome(&store).await, InstanceOutcome::Running, "the next execution follows");
    let start = started("a", 2);
    step(&store, 2, vec![start.clone()], None).await;
    assert_eq!(outcome(&store).await, InstanceOutcome::Running);
    assert_eq!(start_event(&store).await, Some(start));
    let end = event("a", 2, 2, EventKind::OrchestrationCompleted { output: "done".to_owned() });
    step(&store, 2, vec![end.clone()], Some("Completed")).await;
    assert_eq!(outcome(&store).await, InstanceOutcome::Ended(Box::new(end)));
}
