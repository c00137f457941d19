//! Suspended instances keep everything and take no turns.

use std::time::Duration;

use duroxide_core::providers::{
    ProviderError, ProviderErrorKind, SUSPENSION_RETRY_MIN, SuspensionOrigin,
};

use crate::ProviderFactory;
use crate::support::{Must, Store, Turn, commit, signal, start_item};

const MILLISECOND: Duration = Duration::from_millis(1);

/// A turn whose code disagrees with the history suspends its instance: its messages wait, without
/// an attempt, until the suspension expires. The commit of a turn ends it.
pub async fn a_suspended_turn_waits_and_counts_no_attempt<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    suspend(&store, &turn, "schedule mismatch").await.must("suspending a leased turn");
    let suspension = store.admin().read_suspension("a").await.must("reading a suspension");
    let suspension = suspension.expect("the instance is suspended");
    assert_eq!(suspension.origin, SuspensionOrigin::Replay);
    assert_eq!(suspension.reason, "schedule mismatch");
    store.send(signal("a", "2")).await;
    store.no_turn("a suspended instance takes no turn").await;
    store.pass(SUSPENSION_RETRY_MIN + MILLISECOND).await;
    let retried = store.turn_of("a").await;
    assert_eq!(retried.item.messages, vec![signal("a", "1"), signal("a", "2")]);
    assert_eq!(retried.attempt, 1, "a suspension counts no attempt");
    let late = store.ack(commit(&turn, vec![])).await;
    late.must_fail_for_good("a commit under the lease that was suspended");
    store.ack(commit(&retried, vec![])).await.must("a commit that ends the suspension");
    let suspension = store.admin().read_suspension("a").await.must("reading no suspension");
    assert_eq!(suspension, None, "the commit of a turn ends the suspension");
    store.send(signal("a", "3")).await;
    assert_eq!(store.turn_of("a").await.item.messages, vec![signal("a", "3")]);
}

/// An instance whose retried turn is released takes it again, although nothing new has happened.
pub async fn a_released_retry_is_fetched_again<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    suspend(&store, &turn, "why").await.must("suspending a leased turn");
    store.pass(SUSPENSION_RETRY_MIN + MILLISECOND).await;
    for _ in 0..2 {
        let retried = store.turn_of("a").await;
        assert_eq!(retried.attempt, 1);
        let released = store.provider.abandon_orchestration_item(&retried.token, None, true).await;
        released.must("releasing a retried turn");
    }
    store.expire().await;
    let retried = store.turn_of("a").await;
    assert_eq!(retried.item.messages, vec![signal("a", "1")]);
}

/// An instance that is suspended again before it has committed a turn keeps the time of its
/// suspension, and has a new reason.
pub async fn a_repeated_suspension_keeps_its_time<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    suspend(&store, &turn, "first").await.must("suspending a leased turn");
    let first = store.admin().read_suspension("a").await.must("reading a suspension");
    store.pass(SUSPENSION_RETRY_MIN + MILLISECOND).await;
    let turn = store.turn_of("a").await;
    suspend(&store, &turn, "second").await.must("suspending the retried turn");
    let second = store.admin().read_suspension("a").await.must("reading a suspension");
    let (first, second) = (first.expect("a suspension"), second.expect("a suspension"));
    assert_eq!(second.since_ms, first.since_ms, "it has been suspended since then");
    assert_eq!(second.reason, "second");
    store.no_turn("the second suspension holds").await;
    let retried = store.provider.retry_suspended().await.must("retrying suspended instances");
    assert_eq!(retried, 1);
    assert_eq!(store.turn_of("a").await.attempt, 1, "a retry does not wait for the pause");
}

/// An operator's suspension holds until it is lifted: the turn that a node holds is lost, time does
/// not end it, and a retry after a change of code does not either.
pub async fn an_operators_suspension_holds_until_resumed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    store.admin().suspend_instance("a", "maintenance").await.must("suspending an instance");
    let lost = store.ack(commit(&turn, vec![])).await;
    let lost = lost.must_fail_for_good("a commit of the turn that was held");
    assert_eq!(lost.kind, ProviderErrorKind::LostLease);
    let suspension = store.admin().read_suspension("a").await.must("reading a suspension");
    let suspension = suspension.expect("the instance is suspended");
    assert_eq!(suspension.origin, SuspensionOrigin::Operator);
    assert_eq!(suspension.reason, "maintenance");
    store.expire().await;
    store.pass(SUSPENSION_RETRY_MIN * 2).await;
    let retried = store.provider.retry_suspended().await.must("retrying suspended instances");
    assert_eq!(retried, 0, "only replay's suspensions are retried");
    store.no_turn("an operator's suspension does not expire").await;
    store.create("b").await;
    store.send(signal("b", "1")).await;
    store.turn_of("b").await;
    let resumed = store.admin().resume_instance("a").await.must("resuming an instance");
    assert!(resumed, "it was suspended");
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![signal("a", "1")], "its messages waited");
    assert_eq!(turn.attempt, 1, "a lost turn counts no attempt");
    let again = store.admin().resume_instance("a").await.must("resuming it again");
    assert!(!again, "it is not suspended any more");
    store.ack(commit(&turn, vec![])).await.must("a commit of the turn that runs again");
}

/// Only a running instance can be suspended.
pub async fn only_a_running_instance_can_be_suspended<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let unknown = store.admin().suspend_instance("missing", "why").await;
    let unknown = unknown.must_fail_for_good("suspending an unknown instance");
    assert_eq!(unknown.kind, ProviderErrorKind::NotFound);
    store.create("a").await;
    store.complete("a", "done").await;
    let ended = store.admin().suspend_instance("a", "why").await;
    let ended = ended.must_fail_for_good("suspending an instance that has ended");
    assert_eq!(ended.kind, ProviderErrorKind::Conflict);
    for instance in ["a", "missing"] {
        let resumed = store.admin().resume_instance(instance).await.must("resuming nothing");
        assert!(!resumed, "{instance} is not suspended");
        let read = store.admin().read_suspension(instance).await.must("reading no suspension");
        assert_eq!(read, None);
    }
    let stale = store.provider.suspend_turn("no-such-token", "why").await;
    stale.must_fail_for_good("suspending a turn under an unknown token");
}

/// Suspended instances are listed by id, page by page, with what they run.
pub async fn suspended_instances_are_listed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["c", "a", "b", "running"] {
        store.create(instance).await;
    }
    for instance in ["c", "a", "b"] {
        store.admin().suspend_instance(instance, instance).await.must("suspending an instance");
    }
    let page = async |after: Option<&str>, limit| {
        let listed = store.admin().list_suspended(after, limit).await;
        let listed = listed.must("listing suspended instances");
        listed.into_iter().map(|it| it.instance_id).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, ["a", "b"]);
    assert_eq!(page(Some("b"), 2).await, ["c"]);
    let all = store.admin().list_suspended(None, 10).await.must("listing suspended instances");
    let info = store.admin().get_instance_info("a").await.must("reading an instance");
    assert_eq!(all[0].orchestration_name, info.orchestration_name);
    assert_eq!(all[0].orchestration_version, info.orchestration_version);
    assert_eq!(all[0].execution_id, info.current_execution_id);
    assert_eq!(all[0].suspension.reason, "a");
    store.admin().resume_instance("b").await.must("resuming an instance");
    assert_eq!(page(None, 10).await, ["a", "c"]);
}

/// A deleted instance takes its suspension with it: its id can be used again.
pub async fn a_suspension_is_deleted_with_its_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.admin().suspend_instance("a", "why").await.must("suspending an instance");
    store.admin().delete_instance("a", true).await.must("deleting a suspended instance");
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.attempt, 1);
    let read = store.admin().read_suspension("a").await.must("reading no suspension");
    assert_eq!(read, None, "the new instance is not suspended");
}

async fn suspend<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    turn: &Turn,
    reason: &str,
) -> Result<(), ProviderError> {
    store.provider.suspend_turn(&turn.token, reason).await
}
