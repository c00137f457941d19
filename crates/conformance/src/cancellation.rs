//! A commit cancels exactly the activities it names.

use duroxide_core::providers::{ExecutionMetadata, ScheduledActivityIdentifier};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, Work, activity, activity_of, commit, completed, ended, heard, named, signal,
    start_item, started,
};

fn identifier(instance: &str, execution_id: u64, activity_id: u64) -> ScheduledActivityIdentifier {
    ScheduledActivityIdentifier { instance: instance.to_owned(), execution_id, activity_id }
}

/// An instance whose first commit schedules activities 2 to `last` and stores `metadata`.
async fn schedule<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    last: u64,
    metadata: ExecutionMetadata,
) {
    store.send(start_item(instance)).await;
    let turn = store.turn_of(instance).await;
    let scheduling = commit(&turn, vec![started(instance, 1)])
        .with_activities((2..=last).map(|id| activity(instance, id)))
        .with_metadata(metadata);
    store.ack(scheduling).await.must("a commit that schedules activities");
}

/// Commits a turn that cancels these activities.
async fn cancel<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    cancelled: Vec<ScheduledActivityIdentifier>,
) {
    store.send(signal(instance, "cancel")).await;
    let turn = store.turn_of(instance).await;
    let next = u64::try_from(turn.item.history.len()).unwrap_or(u64::MAX) + 1;
    let cancelling =
        commit(&turn, vec![heard(instance, 1, next)]).with_cancelled_activities(cancelled);
    store.ack(cancelling).await.must("a commit that cancels activities");
}

/// All activities that are fetchable now, in order.
async fn drain<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) -> Vec<Work> {
    let mut found = Vec::new();
    while let Some(work) = store.try_work().await {
        found.push(work);
    }
    found
}

/// A worker can fetch and complete the activity of an instance in this state.
async fn fetchable_when<F: ProviderFactory + ?Sized>(factory: &F, metadata: ExecutionMetadata) {
    let store = Store::open(factory).await;
    schedule(&store, "a", 2, metadata).await;
    let work = store.work().await;
    assert_eq!(work.item, activity("a", 2), "the state of the instance does not matter");
    assert_eq!(work.attempt, 1);
    let finished = store.provider.ack_work_item(&work.token, Some(completed("a", 2))).await;
    finished.must("completing an activity");
}

/// The activity of a running instance is fetchable.
pub async fn test_fetch_returns_running_state_for_active_orchestration<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    fetchable_when(factory, named()).await;
}

/// The activity of a completed instance is fetchable: only a cancellation removes it.
pub async fn test_fetch_returns_terminal_state_when_orchestration_completed<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    fetchable_when(factory, ended("Completed", "done")).await;
}

/// The activity of a failed instance is fetchable.
pub async fn test_fetch_returns_terminal_state_when_orchestration_failed<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    fetchable_when(factory, ended("Failed", "broken")).await;
}

/// The activity of an execution that continued as new is fetchable.
pub async fn test_fetch_returns_terminal_state_when_orchestration_continued_as_new<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    fetchable_when(factory, ended("ContinuedAsNew", "next")).await;
}

/// An activity that is enqueued for a deleted instance is fetchable.
pub async fn test_fetch_returns_missing_state_when_instance_deleted<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    missing_instance(&store).await;
    store.send_work(activity("gone", 2)).await;
    let work = store.work().await;
    assert_eq!(work.item, activity("gone", 2));
    store.provider.ack_work_item(&work.token, None).await.must("completing an activity");
}

/// Creates and deletes an instance. Without a management side the instance never existed.
async fn missing_instance<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) {
    if let Some(admin) = store.provider.as_management_capability() {
        store.create("gone").await;
        admin.delete_instance("gone", true).await.must("deleting by force");
    }
}

/// The lease on the activity of an instance in this state can be renewed.
async fn renewable_when<F: ProviderFactory + ?Sized>(factory: &F, metadata: ExecutionMetadata) {
    let store = Store::open(factory).await;
    schedule(&store, "a", 2, metadata).await;
    let work = store.work().await;
    renew_and_outlive(&store, &work).await;
}

/// Renews a lease and checks that it outlives its first expiry.
async fn renew_and_outlive<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, work: &Work) {
    store.pass(store.lease() * 3 / 5).await;
    let renewed = store.provider.renew_work_item_lock(&work.token, store.lease()).await;
    renewed.must("renewing a live lease");
    store.pass(store.lease() * 3 / 5).await;
    store.no_work("the lease was renewed").await;
}

/// The lease on an activity of a running instance can be renewed.
pub async fn test_renew_returns_running_when_orchestration_active<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    renewable_when(factory, named()).await;
}

/// The lease on an activity of a completed instance can be renewed.
pub async fn test_renew_returns_terminal_when_orchestration_completed<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    renewable_when(factory, ended("Completed", "done")).await;
}

/// The lease on an activity of a deleted instance can be renewed.
pub async fn test_renew_returns_missing_when_instance_deleted<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    missing_instance(&store).await;
    store.send_work(activity("gone", 2)).await;
    let work = store.work().await;
    renew_and_outlive(&store, &work).await;
}

/// Completing without a result removes the activity and enqueues no message.
pub async fn test_ack_work_item_none_deletes_without_enqueue<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    schedule(&store, "a", 2, named()).await;
    let work = store.work().await;
    store.provider.ack_work_item(&work.token, None).await.must("completing without a result");
    store.no_turn("no message was enqueued").await;
    store.expire().await;
    store.no_work("the activity is removed").await;
}

/// A cancelled activity is removed. Every other activity stays, even one with the same number.
pub async fn test_cancelled_activities_deleted_from_worker_queue<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    schedule(&store, "a", 3, named()).await;
    schedule(&store, "b", 2, named()).await;
    store.send_work(activity_of("a", 2, 2)).await;
    cancel(&store, "a", vec![identifier("a", 1, 2)]).await;
    let left: Vec<_> = drain(&store).await.into_iter().map(|work| work.item).collect();
    let expected = [activity("a", 3), activity("b", 2), activity_of("a", 2, 2)];
    assert_eq!(left, expected, "only the activity named by all three parts is removed");
}

/// An activity that was cancelled while it ran cannot be completed, and its result is discarded.
pub async fn test_ack_work_item_fails_when_entry_deleted<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    schedule(&store, "a", 2, named()).await;
    let work = store.work().await;
    cancel(&store, "a", vec![identifier("a", 1, 2)]).await;
    let late = store.provider.ack_work_item(&work.token, Some(completed("a", 2))).await;
    late.must_fail_for_good("completing a cancelled activity");
    store.no_turn("the result of a cancelled activity is not sent").await;
}

/// An activity that was cancelled while it ran cannot be renewed. The failed renewal informs its
/// worker.
pub async fn test_renew_fails_when_entry_deleted<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    schedule(&store, "a", 2, named()).await;
    let work = store.work().await;
    cancel(&store, "a", vec![identifier("a", 1, 2)]).await;
    let renewed = store.provider.renew_work_item_lock(&work.token, store.lease()).await;
    renewed.must_fail_for_good("renewing a cancelled activity");
    store.expire().await;
    store.no_work("a cancelled activity never comes back").await;
}

/// Cancelling an unknown activity is not an error, and the rest of the commit is stored.
pub async fn test_cancelling_nonexistent_activities_is_idempotent<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    schedule(&store, "a", 2, named()).await;
    for _ in 0..2 {
        cancel(&store, "a", vec![identifier("a", 1, 77), identifier("unknown", 1, 2)]).await;
    }
    assert_eq!(store.history("a").await.len(), 3, "the commits are stored");
    assert_eq!(store.work().await.item, activity("a", 2), "an activity that was not named stays");
}

/// One commit cancels many activities, both leased and queued ones.
pub async fn test_batch_cancellation_deletes_multiple_activities<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    schedule(&store, "a", 7, named()).await;
    let running = store.work().await;
    assert_eq!(running.item, activity("a", 2));
    cancel(&store, "a", (2..=6).map(|id| identifier("a", 1, id)).collect()).await;
    let left: Vec<_> = drain(&store).await.into_iter().map(|work| work.item).collect();
    assert_eq!(left, [activity("a", 7)], "five are cancelled, one stays");
    let late = store.provider.ack_work_item(&running.token, None).await;
    late.must_fail_for_good("completing a cancelled activity");
}

/// An activity that one commit schedules and cancels never runs; its sibling does.
pub async fn test_same_activity_in_worker_items_and_cancelled_is_noop<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let both = commit(&turn, vec![started("a", 1)])
        .with_activities(vec![activity("a", 2), activity("a", 3)])
        .with_cancelled_activities(vec![identifier("a", 1, 2)]);
    store.ack(both).await.must("a commit that schedules and cancels one activity");
    let left: Vec<_> = drain(&store).await.into_iter().map(|work| work.item).collect();
    assert_eq!(left, [activity("a", 3)], "cancelling comes after scheduling");
}

/// After a forced deletion an activity may remain; completing it is not an error.
pub async fn test_orphan_activity_after_instance_force_deletion<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    schedule(&store, "a", 2, named()).await;
    store.admin().delete_instance("a", true).await.must("deleting by force");
    if let Some(orphan) = store.try_work().await {
        let finished = store.provider.ack_work_item(&orphan.token, None).await;
        finished.must("completing an orphan");
    }
    store.no_work("an orphan is delivered once").await;
    assert_eq!(store.history("a").await, vec![], "the instance stays deleted");
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __cancellation {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context cancellation
            test_fetch_returns_running_state_for_active_orchestration;
            test_fetch_returns_terminal_state_when_orchestration_completed;
            test_fetch_returns_terminal_state_when_orchestration_failed;
            test_fetch_returns_terminal_state_when_orchestration_continued_as_new;
            test_fetch_returns_missing_state_when_instance_deleted;
            test_renew_returns_running_when_orchestration_active;
            test_renew_returns_terminal_when_orchestration_completed;
            test_renew_returns_missing_when_instance_deleted;
            test_ack_work_item_none_deletes_without_enqueue;
            test_cancelled_activities_deleted_from_worker_queue;
            test_ack_work_item_fails_when_entry_deleted;
            test_renew_fails_when_entry_deleted;
            test_cancelling_nonexistent_activities_is_idempotent;
            test_batch_cancellation_deletes_multiple_activities;
            test_same_activity_in_worker_items_and_cancelled_is_noop;
            test_orphan_activity_after_instance_force_deletion needs(management);
        }
    };
}
