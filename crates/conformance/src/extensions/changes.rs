//! A watch reports every change in its scope. It may wake without a change, but never misses one.

use std::time::Duration;

use duroxide_core::EventKind;
use duroxide_core::providers::{ChangeScope, ChangeWatch, InstanceOutcome};

use crate::ProviderFactory;
use crate::limits::WAKE_TIME_MAX;
use crate::support::{
    End, Must, Store, activity, commit, completed, heard, signal, start_item, started,
};

fn watch<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, scope: ChangeScope<'_>) -> ChangeWatch {
    store.provider.watch(scope).expect("a provider that publishes changes returns watches")
}

/// The watch must report `change`, which happened after the watch was created.
async fn must_see(watch: &mut ChangeWatch, change: &str) {
    if tokio::time::timeout(WAKE_TIME_MAX, watch.changed()).await.is_err() {
        panic!("a watch missed {change}");
    }
}

/// A watch reports everything that may make a turn fetchable: messages, results, commits and
/// abandoned turns.
pub async fn a_watch_sees_what_makes_turns_fetchable<F: ProviderFactory + ?Sized>(factory: &F) {
    const SCOPE: ChangeScope<'_> = ChangeScope::OrchestratorQueue;
    let store = Store::open(factory).await;
    let mut seen = watch(&store, SCOPE);
    store.send(start_item("a")).await;
    must_see(&mut seen, "a message").await;

    let turn = store.turn_of("a").await;
    store.send(signal("a", "waits")).await;
    let mut seen = watch(&store, SCOPE);
    let own = commit(&turn, vec![started("a", 1)]);
    store.ack(own).await.must("a commit");
    must_see(&mut seen, "a commit that releases waiting messages").await;

    let turn = store.turn_of("a").await;
    let mut seen = watch(&store, SCOPE);
    let abandoned = store.provider.abandon_orchestration_item(&turn.token, None, false).await;
    abandoned.must("abandoning a turn");
    must_see(&mut seen, "an abandoned turn").await;

    store.send_work(activity("a", 2)).await;
    let work = store.work().await;
    let mut seen = watch(&store, SCOPE);
    let finished = store.provider.ack_work_item(&work.token, Some(completed("a", 2))).await;
    finished.must("completing an activity");
    must_see(&mut seen, "the result of an activity").await;
}

/// A watch reports everything that may make an activity fetchable.
pub async fn a_watch_sees_what_makes_work_fetchable<F: ProviderFactory + ?Sized>(factory: &F) {
    const SCOPE: ChangeScope<'_> = ChangeScope::WorkerQueue;
    let store = Store::open(factory).await;
    let mut seen = watch(&store, SCOPE);
    store.send_work(activity("a", 1)).await;
    must_see(&mut seen, "an activity").await;

    let work = store.work().await;
    let mut seen = watch(&store, SCOPE);
    let abandoned = store.provider.abandon_work_item(&work.token, None, false).await;
    abandoned.must("abandoning an activity");
    must_see(&mut seen, "an abandoned activity").await;

    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    let mut seen = watch(&store, SCOPE);
    let mut scheduling = commit(&turn, vec![started("a", 1)]);
    scheduling.activities = vec![(activity("a", 2)).into()];
    store.ack(scheduling).await.must("a commit with an activity");
    must_see(&mut seen, "an activity of a commit").await;
}

/// A watch reports every commit of its instance separately, including one made before the wait.
pub async fn a_watch_sees_every_commit_of_its_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let mut seen = watch(&store, ChangeScope::Instance("a"));
    store.create("a").await;
    must_see(&mut seen, "the creation of its instance").await;
    for event_id in 2..=3 {
        // A store may report one change twice; drain pending reports before the next change.
        while tokio::time::timeout(Duration::from_millis(50), seen.changed()).await.is_ok() {}
        store.send(signal("a", "next")).await;
        let turn = store.turn_of("a").await;
        store.ack(commit(&turn, vec![heard("a", 1, event_id)])).await.must("a commit");
        must_see(&mut seen, "a commit of its instance").await;
    }
}

/// A watch may report the completed status, which equals the stored one including the custom
/// status. A watch created after completion reports none.
pub async fn a_watch_reports_completion_as_stored<F: ProviderFactory + ?Sized>(factory: &F) {
    const SCOPE: ChangeScope<'_> = ChangeScope::Outcome("a");
    let store = Store::open(factory).await;
    store.create("a").await;
    let mut seen = watch(&store, SCOPE);
    let status_event =
        |text: &str| EventKind::CustomStatusUpdated { status: Some(text.to_owned()) };
    store.record("a", vec![status_event("half")]).await;
    assert_eq!(seen.ending(), None, "the instance still runs");
    store.end_with("a", End::Completed("done"), vec![status_event("ready")]).await;
    must_see(&mut seen, "the completion of its instance").await;
    let stored = store.provider.read_status("a").await.must("reading a status");
    assert!(matches!(stored.outcome, InstanceOutcome::Ended(_)));
    assert!(
        seen.ending().is_none_or(|reported| reported == stored),
        "the watch reports another status: {seen:?}"
    );
    assert_eq!(watch(&store, SCOPE).ending(), None, "a later watch has to read the status");
}

/// An instance that continues as new has not completed.
pub async fn a_watch_reports_no_completion_of_a_continued_instance<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let seen = watch(&store, ChangeScope::Outcome("a"));
    store.continue_as_new("a").await;
    assert_eq!(seen.ending(), None, "the next execution follows");
}
