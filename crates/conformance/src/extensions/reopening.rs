//! An operator's call stores an execution in place of a node.

use std::collections::BTreeMap;

use duroxide_core::EventKind;
use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    ExpectedInstance, KvEntry, NewExecution, ProviderError, ProviderErrorKind, TurnCommit,
};

use crate::ProviderFactory;
use crate::support::{
    End, Must, Store, activity_of, commit, ended, event, facts, heard, identified, named, queued,
    signal, start_item, started, timer,
};

/// The second execution of an instance, with one event more than its start.
fn second(instance: &str) -> TurnCommit {
    TurnCommit::new("", 2)
        .with_history_delta(vec![started(instance, 2), heard(instance, 2, 2)])
        .with_metadata(named())
}

fn after_the_first(last_event_id: u64) -> ExpectedInstance {
    ExpectedInstance::Ended { execution_id: 1, last_event_id }
}

async fn store_execution<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    execution: NewExecution,
) -> Result<(), ProviderError> {
    store.admin().store_execution(execution).await
}

fn set(key: &str, value: &str) -> EventKind {
    let (key, value) = (key.to_owned(), value.to_owned());
    EventKind::KeyValueSet { key, value, last_updated_at_ms: 7 }
}

fn entries(pairs: &[(&str, &str)]) -> BTreeMap<String, KvEntry> {
    let entry = |value: &&str| KvEntry { value: (*value).to_owned(), last_updated_at_ms: 5 };
    pairs.iter().map(|(key, value)| ((*key).to_owned(), entry(value))).collect()
}

/// The execution follows the one that ended, which keeps its result, and nodes take its turns with
/// its events and its messages, in their order. Its activities are in the queue.
pub async fn a_stored_execution_follows_one_that_ended<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.fail("a", "no").await;
    let (past, later) = (timer("a", 2, store.now_ms() - 5), timer("a", 3, store.now_ms() + 60_000));
    let sent = vec![queued("a", "1"), later.clone(), past.clone(), queued("a", "2")];
    let execution =
        second("a").with_activities(vec![activity_of("a", 2, 2)]).with_messages("a", sent);
    let execution = NewExecution::new("a", after_the_first(2), execution);
    let execution = execution.with_custom_status(Some("mended".to_owned()));
    store_execution(&store, execution).await.must("storing an execution");
    let info = store.admin().get_instance_info("a").await.must("reading an instance");
    assert_eq!((info.status.as_str(), info.current_execution_id), ("Running", 2));
    let first = store.admin().get_execution_info("a", 1).await.must("reading an execution");
    assert_eq!((first.status.as_str(), first.output.as_deref()), ("Failed", Some("no")));
    let status = store.provider.get_custom_status("a", 0).await.must("reading a custom status");
    assert_eq!(status.and_then(|(status, _)| status).as_deref(), Some("mended"));
    assert_eq!(store.work().await.item, activity_of("a", 2, 2));
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.execution_id, 2);
    assert_eq!(facts(&turn.item.history), facts(&[started("a", 2), heard("a", 2, 2)]));
    assert_eq!(turn.item.messages, vec![queued("a", "1"), past, queued("a", "2")]);
    assert_eq!(turn.attempt, 1);
    store.ack(commit(&turn, vec![heard("a", 2, 3)])).await.must("a commit to the execution");
    store.pass(std::time::Duration::from_secs(61)).await;
    assert_eq!(store.turn_of("a").await.item.messages, vec![later]);
}

/// An instance that is not stored gets its first execution, with keys that no event set.
pub async fn a_new_instance_can_be_stored<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let first = TurnCommit::new("", 1)
        .with_history_delta(vec![started("a", 1), event("a", 1, 2, set("k", "new"))])
        .with_metadata(named())
        .with_messages("a", vec![signal("a", "1")]);
    let execution = NewExecution::new("a", ExpectedInstance::New, first)
        .with_kv(Some(entries(&[("k", "old"), ("l", "left")])));
    store_execution(&store, execution.clone()).await.must("storing an instance");
    let again = store_execution(&store, execution).await;
    let again = again.must_fail_for_good("storing an instance that exists");
    assert_eq!(again.kind, ProviderErrorKind::Conflict);
    let live = store.provider.get_kv_value("a", "k").await.must("reading a value");
    assert_eq!(live.as_deref(), Some("new"));
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![signal("a", "1")]);
    let snapshot: BTreeMap<_, _> = turn.item.kv_snapshot.into_iter().collect();
    assert_eq!(snapshot, entries(&[("k", "old"), ("l", "left")]));
}

/// The keys of the new execution replace those that the ended one left.
pub async fn a_stored_execution_replaces_the_keys<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.end_with("a", End::Failed("no"), vec![set("k", "2"), set("gone", "1")]).await;
    let execution = NewExecution::new("a", after_the_first(4), second("a"));
    let execution = execution.with_kv(Some(entries(&[("k", "1")])));
    store_execution(&store, execution).await.must("storing an execution");
    let values = store.provider.get_kv_all_values("a").await.must("reading all values");
    assert_eq!(values, [("k".to_owned(), "1".to_owned())].into());
    let turn = store.woken("a").await;
    let snapshot: BTreeMap<_, _> = turn.item.kv_snapshot.into_iter().collect();
    assert_eq!(snapshot, entries(&[("k", "1")]));
}

/// If the instance is not as expected, nothing changes.
pub async fn only_the_expected_instance_is_reopened<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("runs").await;
    store.create("ended").await;
    store.fail("ended", "no").await;
    store.send(start_item("starts")).await;
    let cases = [
        ("runs", after_the_first(1), ProviderErrorKind::Conflict),
        ("runs", ExpectedInstance::New, ProviderErrorKind::Conflict),
        ("ended", after_the_first(1), ProviderErrorKind::Conflict),
        ("ended", ExpectedInstance::New, ProviderErrorKind::Conflict),
        ("starts", ExpectedInstance::New, ProviderErrorKind::Conflict),
        ("unknown", after_the_first(2), ProviderErrorKind::NotFound),
    ];
    for (instance, expected, kind) in cases {
        let execution = second(instance)
            .with_activities(vec![activity_of(instance, 2, 2)])
            .with_messages(instance, vec![signal(instance, "1")]);
        let execution = NewExecution::new(instance, expected.clone(), execution);
        let refused = store_execution(&store, execution.with_kv(Some(BTreeMap::new()))).await;
        let refused = refused.must_fail_for_good("storing an unexpected execution");
        assert_eq!(refused.kind, kind, "{instance} {expected:?}");
    }
    store.no_work("a refused call enqueues nothing").await;
    assert_eq!(store.turn_of("starts").await.item.messages, vec![start_item("starts")]);
    store.no_turn("a refused call sends nothing").await;
    assert_eq!(store.executions("ended").await, [1]);
    let info = store.admin().get_instance_info("ended").await.must("reading an instance");
    assert_eq!(info.status, "Failed");
    assert_eq!(store.instances().await.len(), 2);
}

/// The call ends the execution of an instance that is held, and stores the next one. The turn that
/// a node holds is lost, and so is the hold.
pub async fn a_held_instance_is_reopened<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.record("a", vec![set("k", "2")]).await;
    store.send_work(activity_of("a", 1, 2)).await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let held = store.admin().hold_instance("a", store.lease()).await.must("holding an instance");
    let failed = End::Failed("reset").event();
    let ending = TurnCommit::new("", 1)
        .with_history_delta(vec![event("a", 1, held.last_event_id + 1, failed)])
        .with_metadata(ended("Failed", "reset"))
        .with_cancelled_activities(vec![identified("a", 2)]);
    let expected = ExpectedInstance::Held { lock_token: held.lock_token.clone() };
    let unended = NewExecution::new("a", expected.clone(), second("a"));
    let unended = store_execution(&store, unended).await;
    let unended = unended.must_fail_for_good("storing an execution beside one that runs");
    assert_eq!(unended.kind, ProviderErrorKind::Conflict);
    let execution = second("a").with_activities(vec![activity_of("a", 2, 2)]);
    let execution = NewExecution::new("a", expected, execution)
        .with_ending(Some(ending))
        .with_kv(Some(entries(&[("k", "1")])));
    store_execution(&store, execution.clone()).await.must("storing an execution");
    let lost = store_execution(&store, execution).await;
    let lost = lost.must_fail_for_good("storing an execution under a hold that is gone");
    assert_eq!(lost.kind, ProviderErrorKind::LostLease);
    let lost = store.ack(commit(&turn, vec![heard("a", 1, 9)])).await;
    let lost = lost.must_fail_for_good("a commit of the turn that was held");
    assert_eq!(lost.kind, ProviderErrorKind::LostLease);
    assert_eq!(store.work().await.item, activity_of("a", 2, 2));
    store.no_work("the activity of the ended execution is cancelled").await;
    let first = store.admin().get_execution_info("a", 1).await.must("reading an execution");
    assert_eq!(ExecutionStatus::parse(&first.status), Some(ExecutionStatus::Failed));
    let next = store.turn_of("a").await;
    assert_eq!((next.item.execution_id, next.attempt), (2, 1));
    assert_eq!(next.item.messages, vec![signal("a", "1")]);
    let snapshot: BTreeMap<_, _> = next.item.kv_snapshot.into_iter().collect();
    assert_eq!(snapshot, entries(&[("k", "1")]));
}

/// A node that holds the execution that ended in memory cannot commit a turn of it.
pub async fn a_mark_of_the_ended_execution_is_stale<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    let held = store.admin().hold_instance("a", store.lease()).await.must("holding an instance");
    let failed = End::Failed("reset").event();
    let ending = TurnCommit::new("", 1)
        .with_history_delta(vec![event("a", 1, held.last_event_id + 1, failed)])
        .with_metadata(ended("Failed", "reset"));
    let expected = ExpectedInstance::Held { lock_token: held.lock_token };
    let execution = NewExecution::new("a", expected, second("a")).with_ending(Some(ending));
    store_execution(&store, execution).await.must("storing an execution");
    store.direct_refused(waiting.rich_turn(), "another execution is the current one").await;
}
