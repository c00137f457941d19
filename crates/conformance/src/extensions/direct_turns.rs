//! What direct turns store. A direct turn is committed without having been fetched.

use duroxide_core::providers::{ExecutionMetadata, ProviderCapability, WorkItem};
use duroxide_core::{Event, EventKind};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, Waiting, activity, child_start_item, completed, continuation, ended, event, facts,
    identified, leasing, pinned, signal, started, timer,
};

/// An event after the mark.
fn after(waiting: &Waiting, offset: u64, kind: EventKind) -> Event {
    let mark = waiting.mark;
    event(&waiting.instance, mark.execution_id, mark.event_id + offset, kind)
}

/// A direct turn appends its events and removes the activities it completes. It enqueues no message
/// for them, and the commit returns the incarnation of the instance.
pub async fn a_direct_turn_appends_events_and_removes_activities<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    assert!(
        store.provider.capabilities().has(ProviderCapability::DirectTurns),
        "the provider declares that it commits direct turns"
    );
    let waiting = store.waiting_for("a", vec![activity("a", 2), activity("a", 3)]).await;
    let committed = store.direct_must(waiting.turn(vec![waiting.next()])).await;
    assert_eq!(committed.incarnation, Some(waiting.mark.incarnation));
    assert_eq!(committed.leased, vec![], "no lease was requested");
    assert_eq!(facts(&store.history("a").await), facts(&[started("a", 1), waiting.next()]));
    store.no_turn("a direct turn consumes the results itself").await;
    for token in &waiting.tokens {
        let again = store.provider.ack_work_item(token, Some(completed("a", 2))).await;
        again.must_fail_for_good("completing an activity that a turn has consumed");
    }
    store.expire().await;
    store.no_work("the activities are removed").await;
    store.no_turn("no message was enqueued").await;
}

/// Activities that the turn does not complete stay unchanged.
pub async fn a_direct_turn_keeps_other_activities<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting_for("a", vec![activity("a", 2), activity("a", 3)]).await;
    store.send_work(activity("a", 4)).await;
    let turn = waiting.turn(vec![waiting.next()]);
    let finished_work = vec![waiting.tokens[0].clone()];
    store.direct_must(turn.with_finished_work(finished_work)).await;
    assert_eq!(store.work().await.item, activity("a", 4));
    let other = store.provider.ack_work_item(&waiting.tokens[1], Some(completed("a", 3))).await;
    other.must("completing the other activity");
    assert_eq!(store.turn_of("a").await.item.messages, vec![completed("a", 3)]);
}

/// Several direct turns follow each other; each leases the activity that the next one completes. A
/// later fetch sees all of them.
pub async fn direct_turns_follow_one_another<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut waiting = store.waiting("a").await;
    for step in 1..=5 {
        let mut turn = waiting.turn(vec![waiting.next()]);
        turn.commit.activities = leasing(vec![activity("a", 10 + step)], &[0], store.lease());
        let mut committed = store.direct_must(turn).await;
        let leased = committed.leased.pop().expect("a lease of the next activity was requested");
        assert_eq!((leased.index, committed.leased.len()), (0, 0));
        store.no_work("the only activity is leased").await;
        store.no_turn("nothing goes through the queue").await;
        waiting = waiting.moved(1, vec![leased.lock_token]);
    }
    let finished = store.provider.ack_work_item(&waiting.tokens[0], Some(completed("a", 15))).await;
    finished.must("completing the last activity through the queue");
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![completed("a", 15)]);
    let ids: Vec<_> = turn.item.history.iter().map(|event| event.event_id).collect();
    assert_eq!(ids, [1, 2, 3, 4, 5, 6], "a fetched turn contains the events of direct turns");
}

/// A direct turn stores values, status, messages, timers, new and cancelled activities as
/// `commit_turn` does.
pub async fn a_direct_turn_stores_every_part<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting_for("a", vec![activity("a", 2), activity("a", 3)]).await;
    let mut turn = waiting.rich_turn();
    turn.finished_work.truncate(1);
    let due = store.now_ms() + u64::try_from(store.lease().as_millis()).expect("a short lease");
    turn.commit.outgoing_messages = vec![child_start_item("a::child", "a"), timer("a", 9, due)];
    turn.commit.cancelled_activities = vec![identified("a", 3)];
    let expected = turn.commit.history_delta.clone();
    let committed = store.direct_must(turn).await;

    assert_eq!(store.history("a").await[1..], expected);
    let status = store.provider.get_custom_status("a", 0).await.must("reading a status");
    assert_eq!(status, Some((Some("on".to_owned()), 1)));
    let value = store.provider.get_kv_value("a", "key").await.must("reading a value");
    assert_eq!(value.as_deref(), Some("value"));
    let cancelled = store.provider.ack_work_item(&waiting.tokens[1], None).await;
    cancelled.must_fail_for_good("completing an activity that the turn cancelled");
    assert_eq!(store.work().await.item, activity("a", 22));
    let leased: Vec<_> = committed.leased.iter().map(|leased| leased.index).collect();
    assert_eq!(leased, [0]);
    let child = store.turn_of("a::child").await;
    assert_eq!(child.item.messages, vec![child_start_item("a::child", "a")]);
    store.no_turn("the timer is not due").await;
    store.pass(store.lease()).await;
    store.expire().await;
    let mut due = Vec::new();
    while let Some(turn) = store.try_turn().await {
        due.push(turn.item.instance);
    }
    assert!(due.contains(&"a".to_owned()), "the timer is due: {due:?}");
}

/// A direct turn that completes an execution completes the instance for every reader.
pub async fn a_direct_turn_completes_an_execution<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    let done = EventKind::OrchestrationCompleted { output: "42".to_owned() };
    let result = WorkItem::SubOrchCompleted {
        parent_instance: "parent".to_owned(),
        parent_execution_id: 1,
        parent_id: 2,
        result: "42".to_owned(),
    };
    store.create("parent").await;
    let mut turn = waiting.turn(vec![after(&waiting, 1, done)]);
    turn.commit.metadata = ended("Completed", "42");
    turn.commit.outgoing_messages = vec![result.clone()];
    store.direct_must(turn).await;
    let outcome = store.provider.read_outcome("a").await.must("reading an outcome");
    assert!(
        format!("{outcome:?}").contains("Completed"),
        "the instance has completed: {outcome:?}"
    );
    assert_eq!(store.turn_of("parent").await.item.messages, vec![result]);
    if let Some(admin) = store.provider.as_management_capability() {
        let info = admin.get_instance_info("a").await.must("reading an info");
        assert_eq!((info.status.as_str(), info.output.as_deref()), ("Completed", Some("42")));
    }
}

/// A direct turn that continues as new makes the values of its execution permanent and enqueues the
/// message that starts the next one. Marks of the old execution are stale.
pub async fn a_direct_turn_continues_as_new<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    let end = EventKind::OrchestrationContinuedAsNew { input: "next".to_owned() };
    let mut turn = waiting.rich_turn();
    turn.commit.history_delta.push(after(&waiting, 4, end));
    turn.commit.metadata = ended("ContinuedAsNew", "next");
    turn.commit.activities.clear();
    let next = continuation("a", "next");
    turn.commit.outgoing_messages = vec![next.clone()];
    store.direct_must(turn).await;
    let fetched = store.turn_of("a").await;
    assert_eq!(fetched.item.messages, vec![next]);
    let values = &fetched.item.kv_snapshot;
    assert_eq!(values.get("key").map(|entry| entry.value.as_str()), Some("value"));
    store.begin_next(&fetched, ExecutionMetadata::default()).await;
    assert_eq!(facts(&store.history("a").await), facts(&[started("a", 2)]));
    let late = waiting.moved(4, vec![]);
    store.direct_refused(late.turn(vec![late.next()]), "the execution has completed").await;
}

/// A store makes no decisions: a direct turn may start an execution and pin it, like any commit.
pub async fn a_direct_turn_may_start_an_execution<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let waiting = store.waiting("a").await;
    let turn = waiting.turn(vec![started("a", 2)]);
    let commit = turn.commit.clone().with_execution_id(2).with_metadata(pinned("9.9.9"));
    store.direct_must(turn.with_commit(commit)).await;
    assert_eq!(facts(&store.history("a").await), facts(&[started("a", 2)]));
    store.send(signal("a", "next")).await;
    let filter = duroxide_core::providers::DispatcherCapabilityFilter {
        supported_duroxide_versions: vec![duroxide_core::providers::SemverRange::new(
            semver::Version::new(1, 0, 0),
            semver::Version::new(2, 0, 0),
        )],
    };
    let fetch = store.provider.fetch_orchestration_item(
        store.lease(),
        std::time::Duration::ZERO,
        Some(&filter),
    );
    assert!(fetch.await.must("a fetch").is_none(), "the pin comes from the direct turn");
    assert_eq!(store.turn_of("a").await.item.execution_id, 2);
    if let Some(admin) = store.provider.as_management_capability() {
        assert_eq!(admin.list_executions("a").await.must("listing executions"), [1, 2]);
    }
}
