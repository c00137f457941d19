//! Starts that report whether their instance is new.

use std::sync::Arc;

use duroxide_core::providers::{ClientMessage, Delivery, Provider};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::ProviderFactory;
use crate::limits::RETRIES_MAX;
use crate::support::{End, Must, Store, queued, start_item};

const CALLERS: usize = 8;
const ROUNDS: usize = 5;

async fn start<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str) -> Delivery {
    let message = ClientMessage::new(start_item(instance));
    store.provider.send_message(message).await.must("starting an instance")
}

/// Starts an instance and retries after a transient error.
async fn start_with_retries(provider: &dyn Provider, message: &ClientMessage) -> Delivery {
    for _ in 0..RETRIES_MAX {
        match provider.send_message(message.clone()).await {
            Ok(delivery) => return delivery,
            Err(error) => assert!(error.is_retryable(), "a start: {error}"),
        }
    }
    panic!("a start failed {RETRIES_MAX} times in a row");
}

/// A start is new if its instance neither exists, finished or not, nor has a queued start.
pub async fn a_start_is_new_once<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(queued("a", "parked")).await;
    assert_eq!(start(&store, "a").await, Delivery::Enqueued, "messages are no instance");
    assert_eq!(start(&store, "a").await, Delivery::Existing, "its start is queued");
    let turn = store.turn_of("a").await;
    let expected = vec![queued("a", "parked"), start_item("a")];
    assert_eq!(turn.item.messages, expected, "the second start left nothing");
    assert_eq!(start(&store, "a").await, Delivery::Existing, "its first turn runs");
    store.create("b").await;
    assert_eq!(start(&store, "b").await, Delivery::Existing, "it runs");
    store.no_turn("nothing was enqueued").await;
    store.complete("b", "done").await;
    assert_eq!(start(&store, "b").await, Delivery::Existing, "it has finished");
    store.create("c").await;
    store.end_with("c", End::ContinuedAsNew("next"), vec![]).await;
    assert_eq!(start(&store, "c").await, Delivery::Existing, "it is between two executions");
}

/// A start that is hidden exists; a deleted instance does not.
pub async fn a_deleted_instance_can_be_new_again<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send_after(start_item("hidden"), store.lease()).await;
    assert_eq!(start(&store, "hidden").await, Delivery::Existing);
    store.create("a").await;
    store.admin().delete_instance("a", true).await.must("deleting by force");
    assert_eq!(start(&store, "a").await, Delivery::Enqueued, "another instance of that id");
    assert_eq!(start(&store, "a").await, Delivery::Existing);
    store.turn_of("a").await;
}

/// Of many starts of one instance at once, exactly one is new.
pub async fn one_of_many_starts_is_new<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for round in 0..ROUNDS {
        let instance = format!("i{round}");
        let barrier = Arc::new(Barrier::new(CALLERS));
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let (provider, barrier) = (Arc::clone(&store.provider), Arc::clone(&barrier));
            let message = ClientMessage::new(start_item(&instance));
            callers.spawn(async move {
                barrier.wait().await;
                start_with_retries(&*provider, &message).await
            });
        }
        let results = callers.join_all().await;
        let new = results.iter().filter(|delivery| **delivery == Delivery::Enqueued).count();
        assert_eq!(new, 1, "one caller has started it: {results:?}");
        let turn = store.turn_of(&instance).await;
        assert_eq!(turn.item.messages, [start_item(&instance)], "one start is stored");
    }
}

/// A start whose id was used is that start, not an existing instance. A start that was refused has
/// not used its id.
pub async fn a_repeated_start_is_still_that_start<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let named = |id: &str| ClientMessage::new(start_item("a")).with_id(id);
    let send = |id: &'static str| store.provider.send_message(named(id));
    assert_eq!(send("m").await.must("a start"), Delivery::Enqueued);
    assert_eq!(send("m").await.must("the same start"), Delivery::Repeated);
    for _ in 0..2 {
        assert_eq!(send("n").await.must("another start"), Delivery::Existing);
    }
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, [start_item("a")]);
}
