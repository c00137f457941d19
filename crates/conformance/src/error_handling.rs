//! The errors that a provider returns.

use duroxide_core::EventKind;

use crate::ProviderFactory;
use crate::support::{
    Must, Store, activity, commit, event, heard, named, signal, start_item, started,
};

/// The error names the token, so that the log shows the cause.
pub async fn test_invalid_lock_token_on_ack<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let acked = store
        .provider
        .ack_orchestration_item("no-such-token", 1, vec![], vec![], vec![], named(), vec![])
        .await;
    let error = acked.must_fail_for_good("a commit under an unknown token");
    let names_token =
        error.message.contains("Invalid lock token") || error.message.contains("lock_token");
    assert!(names_token, "the message must name the lock token: {error}");
}

/// An execution stores each event id once; stored events do not change.
pub async fn test_duplicate_event_id_rejection<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let before = store.history("a").await;
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let other = event("a", 1, 1, EventKind::OrchestrationCompleted { output: "no".to_owned() });
    for (delta, what) in [
        (vec![other], "another event under a stored id"),
        (before.clone(), "the same event once more"),
        (vec![heard("a", 1, 2), heard("a", 1, 2)], "one id twice in a commit"),
    ] {
        store.ack(commit(&turn, delta)).await.must_fail_for_good(what);
        assert_eq!(store.history("a").await, before, "{what} must not change the history");
    }
    let other_execution = vec![started("a", 2)];
    let second = commit(&turn, other_execution.clone()).with_execution_id(2);
    store.ack(second).await.must("the same event id in another execution");
    assert_eq!(store.history("a").await, other_execution);
}

/// Reading an unknown instance returns an empty history, not an error.
pub async fn test_missing_instance_metadata<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("known").await;
    assert_eq!(store.history("unknown").await, vec![]);
    let first = store.provider.read_with_execution("unknown", 1).await;
    assert_eq!(first.must("reading an unknown instance"), vec![]);
    let second = store.provider.read_with_execution("known", 2).await;
    assert_eq!(second.must("reading an unknown execution"), vec![]);
}

/// Texts with unusual characters come back unchanged in messages, activities and events.
pub async fn test_corrupted_serialization_data<F: ProviderFactory + ?Sized>(factory: &F) {
    const TEXTS: &[&str] =
        &["", "{\"torn\":", "\0\u{1}\u{7f}", "'; drop --", "\u{e4}\u{4e16}\u{10348}", "\\u0000\n"];
    let store = Store::open(factory).await;
    store.create("a").await;
    let messages: Vec<_> = TEXTS.iter().map(|text| signal("a", text)).collect();
    for message in &messages {
        store.send(message.clone()).await;
    }
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, messages, "messages come back unchanged");
    let kinds: Vec<_> = TEXTS
        .iter()
        .map(|text| EventKind::ExternalEvent { name: (*text).to_owned(), data: (*text).to_owned() })
        .collect();
    let events: Vec<_> =
        (2..).zip(kinds.clone()).map(|(id, kind)| event("a", 1, id, kind)).collect();
    store.ack(commit(&turn, events.clone())).await.must("a commit of unusual texts");
    store.send(signal("a", "next")).await;
    let next = store.turn_of("a").await;
    assert_eq!(next.item.history_error, None, "unusual text does not corrupt the history");
    assert_eq!(next.item.history[1..], events, "events come back unchanged");
}

/// A commit after its lease expired is refused and changes nothing.
pub async fn test_lock_expiration_during_ack<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    store.expire().await;
    let late = commit(&turn, vec![started("a", 1)])
        .with_activities(vec![activity("a", 2)])
        .with_messages(&turn.item.instance, vec![signal("a", "late")]);
    store.ack(late).await.must_fail_for_good("a commit after its lease expired");
    assert_eq!(store.history("a").await, vec![], "a late commit stores nothing");
    store.no_work("a late commit enqueues nothing").await;
    let again = store.turn_of("a").await;
    assert_eq!(again.item.messages, vec![start_item("a")], "a late commit consumes nothing");
}

/// Rows that cannot be decoded make reading fail, because replaying a shorter history would be
/// wrong.
pub async fn test_read_corrupted_history_returns_error<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    corrupt_one(&store).await;
    store.provider.read("corrupt").await.must_fail("reading a corrupt history");
    assert_eq!(store.history("whole").await.len(), 1, "other instances are not affected");
}

/// Reading one execution fails in the same way.
pub async fn test_read_with_execution_corrupted_history_returns_error<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    corrupt_one(&store).await;
    let corrupt = store.provider.read_with_execution("corrupt", 1).await;
    corrupt.must_fail("reading a corrupt execution");
    let whole = store.provider.read_with_execution("whole", 1).await;
    assert_eq!(whole.must("reading another instance").len(), 1);
}

async fn corrupt_one<F: ProviderFactory + ?Sized>(store: &Store<'_, F>) {
    store.create("whole").await;
    store.create("corrupt").await;
    store.factory.corrupt_instance_history("corrupt").await;
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __error_handling {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context error_handling
            test_invalid_lock_token_on_ack;
            test_duplicate_event_id_rejection;
            test_missing_instance_metadata;
            test_corrupted_serialization_data;
            test_lock_expiration_during_ack;
            test_read_corrupted_history_returns_error needs(corruption);
            test_read_with_execution_corrupted_history_returns_error needs(corruption);
        }
    };
}
