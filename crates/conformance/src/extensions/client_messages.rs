//! Messages of clients with an id, or to an instance that must exist.

use duroxide_core::providers::{ClientMessage, Delivery};

use crate::ProviderFactory;
use crate::support::{Must, Store, commit, queued, signal, start_item};

async fn send<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    message: ClientMessage,
) -> Delivery {
    store.provider.send_message(message).await.must("sending a message")
}

/// The same id twice for one instance has one effect, while the message waits and after it was
/// consumed. Another instance and a recreated one have ids of their own.
pub async fn a_message_id_has_one_effect<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.create("b").await;
    let message = |instance: &str| ClientMessage::new(queued(instance, "1")).with_id("m");
    assert_eq!(send(&store, message("a")).await, Delivery::Enqueued);
    assert_eq!(send(&store, message("a")).await, Delivery::Repeated, "while it waits");
    assert_eq!(send(&store, message("b")).await, Delivery::Enqueued, "another instance");
    let other = ClientMessage::new(queued("a", "2")).with_id("n");
    assert_eq!(send(&store, other).await, Delivery::Enqueued, "another id");
    let plain = ClientMessage::new(queued("a", "1"));
    assert_eq!(send(&store, plain.clone()).await, Delivery::Enqueued, "no id");
    assert_eq!(send(&store, plain).await, Delivery::Enqueued, "no id");
    let turn = store.turn_of("a").await;
    let expected = [("1", 1), ("2", 1), ("1", 2)];
    let expected = expected.map(|(data, times)| vec![queued("a", data); times]).concat();
    assert_eq!(turn.item.messages, expected);
    store.turn_of("b").await;
    store.ack(commit(&turn, vec![])).await.must("a commit");
    assert_eq!(send(&store, message("a")).await, Delivery::Repeated, "after it was consumed");
    store.no_turn("nothing was enqueued").await;
}

/// A deleted instance has no ids.
pub async fn a_deleted_instance_forgets_its_message_ids<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let message = || ClientMessage::new(signal("a", "1")).with_id("m");
    assert_eq!(send(&store, message()).await, Delivery::Enqueued);
    store.admin().delete_instance("a", true).await.must("deleting by force");
    store.create("a").await;
    assert_eq!(send(&store, message()).await, Delivery::Enqueued, "another instance of that id");
}

/// A message to an instance that must exist is refused only if the instance neither exists nor
/// waits for its first turn.
pub async fn a_message_to_an_unknown_instance_is_reported<F: ProviderFactory + ?Sized>(
    factory: &F,
) {
    let store = Store::open(factory).await;
    let message = |instance: &str| ClientMessage::new(signal(instance, "1")).to_existing();
    let named = || message("a").with_id("m");
    assert_eq!(send(&store, named()).await, Delivery::NotFound);
    store.send(queued("a", "parked")).await;
    assert_eq!(send(&store, named()).await, Delivery::NotFound, "messages are no instance");
    store.send(start_item("a")).await;
    assert_eq!(send(&store, named()).await, Delivery::Enqueued, "its start is queued");
    let turn = store.turn_of("a").await;
    let expected = vec![queued("a", "parked"), start_item("a"), signal("a", "1")];
    assert_eq!(turn.item.messages, expected, "a refused message leaves nothing");
    store.create("b").await;
    assert_eq!(send(&store, message("b")).await, Delivery::Enqueued, "it exists");
}
