//! What the queues hold of one instance.

use std::time::Duration;

use duroxide_core::providers::{
    InstanceQueues, InstanceQueuesQuery, NeededCode, QueuedActivity, QueuedMessages,
    ScheduledActivity, SessionFetchConfig, TagFilter, WorkItem,
};
use semver::Version;

use crate::ProviderFactory;
use crate::support::{Must, Store, activity, commit, queued, signal, start_item, timer};

const LIMIT: u32 = 100;

impl<F: ProviderFactory + ?Sized> Store<'_, F> {
    async fn queues_up_to(&self, instance: &str, limit: u32) -> InstanceQueues {
        let query = InstanceQueuesQuery::new(instance, limit);
        let read = self.admin().read_instance_queues(query).await.must("reading the queues");
        read.expect("a provider that declares it reports the queues of an instance")
    }

    async fn queues(&self, instance: &str) -> InstanceQueues {
        self.queues_up_to(instance, LIMIT).await
    }

    async fn queued_activity(&self, instance: &str) -> QueuedActivity {
        let queues = self.queues(instance).await;
        let [activity] = queues.activities.as_slice() else {
            panic!("one activity is queued: {queues:?}");
        };
        activity.clone()
    }
}

fn counts(queues: &InstanceQueues) -> Vec<(&str, u32, u32, u32)> {
    let count = |it: &QueuedMessages| (it.ready, it.delayed, it.parked);
    let messages = queues.messages.iter();
    messages.map(|it| (it.kind.as_str(), count(it))).map(|(a, (b, c, d))| (a, b, c, d)).collect()
}

/// Messages are counted by kind: those that are ready, those that become visible later, and those
/// that wait for an instance that does not exist. Those of other instances do not count.
pub async fn messages_of_an_instance_are_counted<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create_pinned("a", "2.0.0").await;
    let from = store.now_ms();
    let later = Duration::from_secs(60);
    for item in [signal("a", "1"), signal("a", "2"), queued("a", "3"), signal("b", "4")] {
        store.send(item).await;
    }
    store.send_after(timer("a", 2, from), later).await;
    let queues = store.queues("a").await;
    let expected =
        [("ExternalRaised", 2, 0, 0), ("QueueMessage", 1, 0, 0), ("TimerFired", 0, 1, 0)];
    assert_eq!(counts(&queues), expected);
    let [raised, _, timers] = queues.messages.as_slice() else { panic!("{queues:?}") };
    let since = raised.ready_since_ms.expect("messages are ready");
    assert!(since >= from && since <= store.now_ms(), "{raised:?}");
    let due = timers.next_visible_ms.expect("a message is delayed");
    assert!(due.abs_diff(from + 60_000) < 30_000, "{timers:?}");
    assert!(queues.now_ms.abs_diff(store.now_ms()) < 30_000, "{queues:?}");
    let code = NeededCode::of_execution("TestOrch", "1.0.0");
    assert_eq!((queues.code, queues.pin), (Some(code), Some(Version::new(2, 0, 0))));
    assert_eq!(queues.lease, None);

    let first = store.queues_up_to("a", 1).await;
    let expected = [("ExternalRaised", 1, 0, 0), ("TimerFired", 0, 1, 0)];
    let either = [expected, [("QueueMessage", 1, 0, 0), expected[1]]];
    assert!(either.iter().any(|it| counts(&first) == *it), "{first:?}");
    assert!(first.has_more_messages && !queues.has_more_messages, "{first:?}");

    let nothing = store.queues("unknown").await;
    assert_eq!((nothing.messages.len(), nothing.code, nothing.lease), (0, None, None));
    store.send(queued("unknown", "early")).await;
    let turn = store.turn_of("a").await;
    store.no_turn("an unknown instance has no turn").await;
    assert_eq!(counts(&store.queues("unknown").await), [("QueueMessage", 0, 0, 1)]);
    store.ack(commit(&turn, vec![])).await.must("a commit");
    assert_eq!(counts(&store.queues("a").await), [("TimerFired", 0, 1, 0)]);
}

/// The lease of a turn is reported until it expires, and fetches are counted with it. A start that
/// no node has committed is known by the code that it needs.
pub async fn the_turn_of_an_instance_is_reported<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let queues = store.queues("a").await;
    assert_eq!(queues.code, Some(NeededCode::of_execution("TestOrch", "1.0.0")));
    assert_eq!((queues.lease, queues.messages[0].attempts), (None, 0));
    for attempt in 1..=2 {
        let leased_at = store.now_ms();
        let turn = store.turn_of("a").await;
        let queues = store.queues("a").await;
        let lease = queues.lease.expect("the turn is leased");
        assert!(!lease.is_suspension, "a node holds it");
        let until = lease.until_ms.expect("the lease of a node expires");
        let length = u64::try_from(store.lease().as_millis()).expect("a short lease");
        assert!(until.abs_diff(leased_at + length) < 30_000, "{lease:?}");
        assert!(until > leased_at, "{lease:?}");
        assert_eq!(counts(&queues), [("StartOrchestration", 1, 0, 0)], "it is not committed");
        assert_eq!(queues.messages[0].attempts, attempt);
        assert_eq!(turn.attempt, attempt);
        store.expire().await;
        let queues = store.queues("a").await;
        assert_eq!(queues.lease, None, "the lease has expired");
        assert_eq!(queues.messages[0].attempts, attempt, "the fetch has happened");
    }
}

/// A lease that no node holds is reported as one: a suspension by replay with its end, and one by
/// an operator without.
pub async fn a_suspension_is_no_lease_of_a_node<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let suspended = store.provider.suspend_turn(&turn.token, "mismatch").await;
    suspended.must("suspending a turn");
    let queues = store.queues("a").await;
    let lease = queues.lease.expect("a suspension is a lease");
    assert!(lease.is_suspension, "no node holds it");
    assert!(lease.until_ms.is_some_and(|until| until > queues.now_ms), "{lease:?}");
    assert_eq!(queues.messages[0].attempts, 0, "a suspension counts no attempt");
    store.admin().suspend_instance("a", "maintenance").await.must("suspending an instance");
    let lease = store.queues("a").await.lease.expect("a suspension is a lease");
    assert_eq!((lease.until_ms, lease.is_suspension), (None, true), "it has no end");
    assert!(store.admin().resume_instance("a").await.must("resuming an instance"));
    assert_eq!(store.queues("a").await.lease, None);
}

/// An activity is reported with its lease, its fetches, its delay and its progress, in the order of
/// executions and activities.
pub async fn activities_of_an_instance_are_reported<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let from = store.now_ms();
    store.send_work(activity("b", 1)).await;
    assert!(store.queues("a").await.activities.is_empty(), "it is of another instance");
    store.send_work(activity("a", 2)).await;
    let waiting = store.queued_activity("a").await;
    assert_eq!((waiting.execution_id, waiting.activity_id), (1, 2));
    assert_eq!((waiting.name.as_str(), &waiting.tag), ("TestActivity", &None));
    assert_eq!((waiting.leased_until_ms, waiting.attempts), (None, 0));
    assert!(waiting.queued_at_ms >= from && waiting.queued_at_ms <= store.now_ms());

    let other = store.work().await;
    let leased = store.work().await;
    let held = store.queued_activity("a").await;
    let until = held.leased_until_ms.expect("it is leased");
    assert!(until > from, "{held:?}");
    assert_eq!((held.attempts, held.delayed_until_ms), (1, None));
    let delay = Some(store.lease() * 100);
    let released = store.provider.abandon_work_item(&leased.token, delay, false).await;
    released.must("releasing an activity");
    let hidden = store.queued_activity("a").await;
    assert_eq!((hidden.leased_until_ms, hidden.attempts), (None, 1));
    assert!(hidden.delayed_until_ms.is_some_and(|until| until > store.now_ms()), "{hidden:?}");

    store.expire().await;
    let expired = store.queued_activity("b").await;
    assert_eq!((expired.leased_until_ms, expired.attempts), (None, 1), "the lease has expired");
    store.provider.ack_work_item(&other.token, None).await.must_fail_for_good("a lost activity");
    for id in [4, 3] {
        store.send_work(activity("a", id)).await;
    }
    let ids = |queues: &InstanceQueues| {
        queues.activities.iter().map(|it| it.activity_id).collect::<Vec<_>>()
    };
    let all = store.queues("a").await;
    assert_eq!((ids(&all), all.has_more_activities), (vec![2, 3, 4], false));
    let first = store.queues_up_to("a", 2).await;
    assert_eq!((ids(&first), first.has_more_activities), (vec![2, 3], true));
}

/// The progress of an activity is reported with its time.
pub async fn progress_is_in_the_queues_of_an_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_work(activity("a", 2)).await;
    let work = store.work().await;
    assert_eq!(store.queued_activity("a").await.progress, None);
    let from = store.now_ms();
    let reported = store.provider.record_activity_progress(&work.token, "half").await;
    reported.must("a report under a live lease");
    let found = store.queued_activity("a").await;
    assert_eq!(found.progress.as_deref(), Some("half"));
    let at = found.progress_at_ms.expect("the time of a report");
    assert!(at >= from && at <= store.now_ms(), "{found:?}");
}

/// The owner of a session is reported with the activities of the session, until it expires.
pub async fn the_owner_of_a_session_is_reported<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for id in [2, 3] {
        let WorkItem::ActivityExecute { instance, execution_id, id, name, input, .. } =
            activity("a", id)
        else {
            unreachable!("it is an activity")
        };
        let (session_id, tag) = (Some("s".to_owned()), Some("gpu".to_owned()));
        let item =
            WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag };
        store.send_work(item).await;
    }
    let before = store.queues("a").await;
    assert!(before.activities.iter().all(|it| it.session_owner.is_none()), "{before:?}");
    let owner = SessionFetchConfig { owner_id: "worker-1".to_owned(), lock_timeout: store.lease() };
    let fetched = store.try_work_as(Some(&owner), &TagFilter::tags(["gpu"])).await;
    fetched.expect("an activity must be fetchable");
    let queues = store.queues("a").await;
    let [leased, waiting] = queues.activities.as_slice() else { panic!("{queues:?}") };
    assert!(leased.leased_until_ms.is_some() && waiting.leased_until_ms.is_none(), "{queues:?}");
    for it in [leased, waiting] {
        assert_eq!((it.session_id.as_deref(), it.tag.as_deref()), (Some("s"), Some("gpu")));
        let owner = it.session_owner.as_ref().expect("the session has an owner");
        assert_eq!(owner.owner_id, "worker-1");
        assert!(owner.until_ms > queues.now_ms, "{it:?}");
    }
    store.expire().await;
    let after = store.queues("a").await;
    assert!(after.activities.iter().all(|it| it.session_owner.is_none()), "{after:?}");
}

/// A schedule-to-start limit is reported until a worker has started the activity.
pub async fn a_start_limit_is_in_the_queues_of_an_instance<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let turn = store.woken("a").await;
    let mut scheduled = ScheduledActivity::new(activity("a", 2));
    scheduled.start_limit = Some(Duration::from_secs(3600));
    let mut commit = commit(&turn, vec![]);
    commit.activities.push(scheduled);
    let from = store.now_ms();
    store.provider.commit_turn(std::sync::Arc::new(commit)).await.must("a commit with a limit");
    let by = store.queued_activity("a").await.start_by_ms.expect("it has a limit");
    assert!(by.abs_diff(from + 3_600_000) < 60_000, "{by}");
    store.work().await;
    assert_eq!(store.queued_activity("a").await.start_by_ms, None, "a worker has started it");
}
