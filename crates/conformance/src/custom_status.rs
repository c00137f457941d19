//! The custom status of an instance and its version.

use duroxide_core::EventKind;

use crate::ProviderFactory;
use crate::support::{End, Must, Store, commit, event, named, next_events, start_item, started};

fn shows(text: &str) -> EventKind {
    EventKind::CustomStatusUpdated { status: Some(text.to_owned()) }
}

fn shows_nothing() -> EventKind {
    EventKind::CustomStatusUpdated { status: None }
}

/// The custom status, if it is newer than `last_seen`.
async fn newer<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    last_seen: u64,
) -> Option<(Option<String>, u64)> {
    store.provider.get_custom_status(instance, last_seen).await.must("reading a custom status")
}

fn text(text: &str, version: u64) -> Option<(Option<String>, u64)> {
    Some((Some(text.to_owned()), version))
}

/// The first status has version 1.
pub async fn test_custom_status_set<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("shown").await;
    store.record("shown", vec![shows("half way")]).await;
    assert_eq!(newer(&store, "shown", 0).await, text("half way", 1));
}

/// Clearing the status counts as a change.
pub async fn test_custom_status_clear<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("shown").await;
    store.record("shown", vec![shows("half way")]).await;
    store.record("shown", vec![shows_nothing()]).await;
    assert_eq!(newer(&store, "shown", 0).await, Some((None, 2)));
    assert_eq!(
        newer(&store, "shown", 1).await,
        Some((None, 2)),
        "a caller that saw the text must see the change"
    );
    assert_eq!(newer(&store, "shown", 2).await, None);
}

/// A commit without a status event changes neither text nor version.
pub async fn test_custom_status_none_preserves<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("shown").await;
    store.record("shown", vec![shows("half way")]).await;
    store.record("shown", vec![]).await;
    assert_eq!(newer(&store, "shown", 0).await, text("half way", 1));
    assert_eq!(newer(&store, "shown", 1).await, None);
}

/// The version grows by one with each commit that sets the status.
pub async fn test_custom_status_version_increments<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("shown").await;
    for version in 1..=4 {
        let shown = format!("step {version}");
        store.record("shown", vec![shows(&shown)]).await;
        assert_eq!(newer(&store, "shown", version - 1).await, text(&shown, version));
    }
    // The version counts commits, so it also grows when the text stays the same.
    store.record("shown", vec![shows("step 4")]).await;
    assert_eq!(newer(&store, "shown", 4).await, text("step 4", 5));
}

/// A caller that has seen the version gets nothing; any other caller gets the status.
pub async fn test_custom_status_polling_no_change<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("shown").await;
    store.record("shown", vec![shows("half way")]).await;
    assert_eq!(newer(&store, "shown", 1).await, None, "version 1 has been seen");
    assert_eq!(newer(&store, "shown", 100).await, None, "nothing is newer than version 100");
    assert_eq!(newer(&store, "shown", 0).await, text("half way", 1), "reading changes nothing");
}

/// An unknown instance has no status, and reading it is not an error.
pub async fn test_custom_status_nonexistent_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    assert_eq!(newer(&store, "unknown", 0).await, None);
}

/// An instance that never set a status is at version 0.
pub async fn test_custom_status_default_on_new_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("silent").await;
    assert_eq!(newer(&store, "silent", 0).await, None);
}

/// Several status events in one commit count as one change, and the last one wins.
pub async fn test_custom_status_last_change_of_a_commit_wins<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("shown").await;
    store.record("shown", vec![shows("a"), shows_nothing(), shows("b")]).await;
    assert_eq!(newer(&store, "shown", 0).await, text("b", 1));
    store.record("shown", vec![shows("c"), shows_nothing()]).await;
    assert_eq!(newer(&store, "shown", 1).await, Some((None, 2)));
}

/// The commit that creates the instance may set the status.
pub async fn test_custom_status_in_first_commit<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("early")).await;
    let turn = store.turn_of("early").await;
    let events = vec![started("early", 1), event("early", 1, 2, shows("here"))];
    store.ack(commit(&turn, events)).await.must("the first commit");
    assert_eq!(newer(&store, "early", 0).await, text("here", 1));
}

/// Text and version survive the execution that set them; the next execution starts with them.
pub async fn test_custom_status_survives_executions<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("shown").await;
    store.continue_with("shown", vec![shows("first")]).await;
    assert_eq!(newer(&store, "shown", 0).await, text("first", 1), "starting changes nothing");
    store.record("shown", vec![shows("second")]).await;
    store.end_with("shown", End::Completed("done"), vec![]).await;
    assert_eq!(newer(&store, "shown", 1).await, text("second", 2));

    store.create("broken").await;
    store.end_with("broken", End::Failed("why"), vec![shows("last words")]).await;
    assert_eq!(newer(&store, "broken", 0).await, text("last words", 1));
}

/// A refused commit does not change the status, and instances do not share statuses.
pub async fn test_custom_status_of_refused_commit_is_not_stored<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    store.create("other").await;
    store.create("shown").await;
    let turn = store.woken("shown").await;
    let events = next_events(&turn, vec![shows("lost")]);
    let stale = commit(&turn, events.clone())
        .with_lock_token("unknown token".to_owned())
        .with_metadata(named());
    store.ack(stale).await.must_fail("a commit without a lease");
    let twice = vec![started("shown", 1), event("shown", 1, 2, shows("lost"))];
    store.ack(commit(&turn, twice)).await.must_fail("a commit of a stored event");
    assert_eq!(newer(&store, "shown", 0).await, None, "a refused commit changes nothing");

    store.ack(commit(&turn, events)).await.must("a commit under the lease");
    assert_eq!(newer(&store, "shown", 0).await, text("lost", 1));
    assert_eq!(newer(&store, "other", 0).await, None, "the text belongs to one instance");
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __custom_status {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context custom_status
            test_custom_status_set;
            test_custom_status_clear;
            test_custom_status_none_preserves;
            test_custom_status_version_increments;
            test_custom_status_polling_no_change;
            test_custom_status_nonexistent_instance;
            test_custom_status_default_on_new_instance;
            test_custom_status_last_change_of_a_commit_wins;
            test_custom_status_in_first_commit;
            test_custom_status_survives_executions;
            test_custom_status_of_refused_commit_is_not_stored;
        }
    };
}
