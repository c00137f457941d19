//! Details of one instance and of one execution.

use std::time::Duration;

use duroxide_core::providers::{ExecutionInfo, ExecutionMetadata, InstanceInfo};

use crate::ProviderFactory;
use crate::limits::CLOCK_SLACK;
use crate::support::{End, Must, Store, commit, named};

const MOMENT: Duration = Duration::from_millis(200);

async fn instance<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, id: &str) -> InstanceInfo {
    store.admin().get_instance_info(id).await.must("info of an instance")
}

async fn execution<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    id: &str,
    execution_id: u64,
) -> ExecutionInfo {
    store.admin().get_execution_info(id, execution_id).await.must("info of an execution")
}

/// The info of an instance contains everything that was committed.
pub async fn test_get_instance_info<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("root").await;
    store.create_child("child", "root").await;
    let info = instance(&store, "root").await;
    assert_eq!(info.instance_id, "root");
    assert_eq!(info.orchestration_name, "TestOrch");
    assert_eq!(info.orchestration_version, "1.0.0");
    assert_eq!(info.current_execution_id, 1);
    assert_eq!((info.status.as_str(), info.output), ("Running", None));
    assert_eq!(info.parent_instance_id, None);
    let info = instance(&store, "child").await;
    assert_eq!(info.parent_instance_id.as_deref(), Some("root"));

    store.complete("root", "done").await;
    store.fail("child", "why").await;
    let info = instance(&store, "root").await;
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Completed", Some("done")));
    let info = instance(&store, "child").await;
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Failed", Some("why")));
    assert_eq!(info.parent_instance_id.as_deref(), Some("root"), "the parent stays");
}

/// Name, version, status and execution come from the commits; a commit without them keeps them.
pub async fn test_get_instance_info_follows_commits<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("chain").await;
    store.end_with("chain", End::ContinuedAsNew("next"), vec![]).await;
    let info = instance(&store, "chain").await;
    assert_eq!((info.status.as_str(), info.output), ("Running", None), "the next one is queued");
    assert_eq!(info.current_execution_id, 1);

    let turn = store.turn_of("chain").await;
    let upgraded = ExecutionMetadata {
        orchestration_name: Some("Renamed".to_owned()),
        orchestration_version: Some("2.0.0".to_owned()),
        ..named()
    };
    store.begin_next(&turn, upgraded).await;
    let info = instance(&store, "chain").await;
    assert_eq!((info.status.as_str(), info.output), ("Running", None), "the next execution runs");
    assert_eq!(info.current_execution_id, 2);
    assert_eq!((info.orchestration_name, info.orchestration_version), renamed());

    let turn = store.woken("chain").await;
    assert_eq!(turn.item.orchestration_name, "Renamed");
    let silent = commit(&turn, vec![]).with_metadata(ExecutionMetadata::default());
    store.ack(silent).await.must("a commit without metadata");
    let info = instance(&store, "chain").await;
    assert_eq!((info.orchestration_name, info.orchestration_version), renamed());
    assert_eq!((info.status.as_str(), info.current_execution_id), ("Running", 2));
}

fn renamed() -> (String, String) {
    ("Renamed".to_owned(), "2.0.0".to_owned())
}

/// The info of an execution contains everything that was committed.
pub async fn test_get_execution_info<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("chain").await;
    let info = execution(&store, "chain", 1).await;
    assert_eq!((info.execution_id, info.event_count), (1, 1));
    assert_eq!((info.status.as_str(), info.output), ("Running", None));
    assert_eq!(info.completed_at, None);

    store.continue_as_new("chain").await;
    let info = execution(&store, "chain", 1).await;
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("ContinuedAsNew", Some("next")));
    assert_eq!(info.event_count, 2);
    assert!(info.completed_at.is_some(), "the execution has finished");

    store.complete("chain", "done").await;
    let info = execution(&store, "chain", 2).await;
    assert_eq!((info.execution_id, info.event_count), (2, 2));
    assert_eq!((info.status.as_str(), info.output.as_deref()), ("Completed", Some("done")));
    assert!(info.completed_at.is_some(), "the execution has finished");
    let first = execution(&store, "chain", 1).await;
    assert_eq!(first.status, "ContinuedAsNew", "the first execution keeps its own status");
}

/// Asserts that a recorded time lies between `from` and `to`.
#[track_caller]
fn assert_between(time: u64, from: u64, to: u64, what: &str) {
    let slack = u64::try_from(CLOCK_SLACK.as_millis()).expect("slack is short");
    assert!(time + slack >= from && time <= to + slack, "{what}: {time} is not in {from}..={to}");
}

/// Times are milliseconds of the provider's clock.
pub async fn test_times_are_real<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let before_start = store.now_ms();
    store.create("timed").await;
    let created = store.now_ms();
    store.pass(MOMENT).await;
    let before_next = store.now_ms();
    store.continue_as_new("timed").await;
    let after_next = store.now_ms();
    store.pass(MOMENT).await;
    let before_end = store.now_ms();
    store.complete("timed", "done").await;
    let end = store.now_ms();

    let info = instance(&store, "timed").await;
    assert_between(info.created_at, before_start, created, "created_at");
    assert_between(info.updated_at, before_end, end, "updated_at");
    let first = execution(&store, "timed", 1).await;
    assert_between(first.started_at, before_start, created, "started_at of the first execution");
    let completed = first.completed_at.expect("the execution has finished");
    assert_between(completed, before_next, after_next, "completed_at of the first execution");
    let second = execution(&store, "timed", 2).await;
    assert_between(second.started_at, before_next, after_next, "started_at of the second");
    let completed = second.completed_at.expect("the execution has finished");
    assert_between(completed, before_end, end, "completed_at of the second execution");
}
