//! Histories that cannot be decoded, for example because another version wrote them.

use duroxide_core::{ErrorDetails, EventKind, PoisonMessageType};

use super::nodes::{fetch, gets, pinned_and_ready, replays};
use crate::support::{Must, Store, commit, ended, event, signal};
use crate::{Ability, ProviderFactory};

const IN_RANGE: &[(&str, &str)] = &[("3.0.0", "3.0.0")];
const OUT_OF_RANGE: &[(&str, &str)] = &[("1.0.0", "2.0.0")];
const SENTINEL_EVENT_ID: u64 = 99_999;

/// A store with one instance, pinned to 3.0.0, that has a message and a corrupt history.
async fn corrupted<F: ProviderFactory + ?Sized>(factory: &F) -> Store<'_, F> {
    let store = pinned_and_ready(factory, "3.0.0").await;
    factory.corrupt_instance_history("pinned").await;
    store
}

/// A node that cannot replay the instance does not fetch it; a node that can gets the decoding
/// error.
pub async fn test_fetch_corrupted_history_filtered_vs_unfiltered<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = corrupted(factory).await;
    assert!(!gets(&store, "pinned", OUT_OF_RANGE).await);
    let turn = store.turn_of("pinned").await;
    assert!(turn.item.history_error.is_some(), "the history cannot be decoded");
    assert_eq!(turn.item.history, vec![], "a corrupt history is not returned in part");
    assert_eq!(turn.item.messages, vec![signal("pinned", "next")]);
    assert_eq!((turn.item.execution_id, turn.attempt), (1, 1));
    store.no_turn("the instance is leased").await;
    store.expire().await;
    let turn = fetch(&store, &replays(IN_RANGE)).await.expect("the pin matches");
    assert!(turn.item.history_error.is_some(), "the history cannot be decoded");
}

/// A fetch counts as an attempt, although the history cannot be decoded.
pub async fn test_fetch_deserialization_error_increments_attempt_count<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = corrupted(factory).await;
    assert_eq!(store.turn_of("pinned").await.attempt, 1);
    store.expire().await;
    assert_eq!(store.turn_of("pinned").await.attempt, 2);
    if factory.can(Ability::AttemptCounts) {
        assert_eq!(factory.get_max_attempt_count("pinned").await, 2, "the count is stored");
    }
}

/// The attempt count grows until the runtime fails the instance.
pub async fn test_fetch_deserialization_error_eventually_reaches_poison<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = corrupted(factory).await;
    for attempt in 1..=11 {
        let turn = store.turn_of("pinned").await;
        assert_eq!(turn.attempt, attempt);
        assert!(turn.item.history_error.is_some(), "the history cannot be decoded");
        let abandoned = store.provider.abandon_orchestration_item(&turn.token, None, false).await;
        abandoned.must("abandoning a turn");
    }
}

/// The provider does not decode instances that do not match, so a corrupt one cannot block a fetch.
pub async fn test_fetch_filter_applied_before_history_deserialization<
    F: ProviderFactory + ?Sized,
>(
    factory: &F,
) {
    let store = corrupted(factory).await;
    let waits = fetch(&store, &replays(OUT_OF_RANGE)).await;
    assert!(waits.is_none(), "an instance that does not match is neither fetched nor an error");
    let turn = store.turn_of("pinned").await;
    assert_eq!(turn.attempt, 1, "skipping does not count as an attempt");

    store.create_pinned("healthy", "1.0.0").await;
    store.send(signal("healthy", "next")).await;
    store.expire().await;
    let turn = fetch(&store, &replays(OUT_OF_RANGE)).await.expect("the healthy instance matches");
    assert_eq!(turn.item.instance, "healthy");
    assert_eq!(turn.item.history_error, None);
}

/// A commit appends the failure after a history that cannot be decoded, without reading it.
pub async fn test_ack_appends_event_to_corrupted_history<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = corrupted(factory).await;
    let turn = store.turn_of("pinned").await;
    let text = "history deserialization failed";
    let details = ErrorDetails::Poison {
        attempt_count: 11,
        max_attempts: 10,
        message_type: PoisonMessageType::FailedDeserialization {
            instance: "pinned".to_owned(),
            execution_id: 1,
            error: text.to_owned(),
        },
        message: text.to_owned(),
    };
    let failed = EventKind::OrchestrationFailed { details };
    let give_up = commit(&turn, vec![event("pinned", 1, SENTINEL_EVENT_ID, failed)])
        .with_metadata(ended("Failed", text));
    store.ack(give_up).await.must("a commit after a history that cannot be decoded");
    let info = store.admin().get_instance_info("pinned").await.must("info of an instance");
    assert_eq!(info.status, "Failed");
    assert!(info.output.is_some_and(|output| output.contains("deserialization failed")));
    let info = store.admin().get_execution_info("pinned", 1).await.must("info of an execution");
    assert_eq!(info.event_count, 2, "nothing was overwritten");
    store.no_turn("the message was consumed").await;
}
