//! Messages for unknown instances wait or are dropped, and block no other instance.

use duroxide_core::providers::{ParkedMessage, WorkItem};

use crate::ProviderFactory;
use crate::support::{
    Must, Store, child_start_item, commit, completed, named, queued, signal, start_item, started,
};

async fn parked<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    limit: u32,
) -> Vec<ParkedMessage> {
    store.admin().list_parked_messages(limit).await.must("listing parked messages")
}

/// Messages for unknown instances do not block other instances, however many exist.
pub async fn an_unknown_instance_blocks_no_other<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for number in 0..60 {
        store.send(signal(&format!("ghost-{number}"), "1")).await;
    }
    store.send(start_item("a")).await;
    assert_eq!(store.turn_of("a").await.attempt, 1);
    store.no_turn("no other instance can run").await;
    store.send(start_item("b")).await;
    assert_eq!(store.turn_of("b").await.attempt, 1);
}

/// A queue message that arrives before its instance is delivered with the start, in order of
/// arrival. Parking does not count as an attempt.
pub async fn an_early_message_waits_for_its_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let early = vec![queued("a", "early"), queued("a", "too")];
    for message in &early {
        store.send(message.clone()).await;
        store.no_turn("the instance does not exist").await;
    }
    store.no_turn("the instance still does not exist").await;
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, [early, vec![start_item("a")]].concat());
    assert_eq!(turn.attempt, 1, "waiting does not count as an attempt");
    assert_eq!(turn.item.orchestration_name, "TestOrch", "the name comes from the start");
}

/// Signals, cancellations and answers for an unknown instance reach no instance that is started
/// later.
pub async fn a_useless_message_is_not_kept<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let cancel = WorkItem::CancelInstance { instance: "a".into(), reason: "early".into() };
    for message in [signal("a", "early"), cancel, completed("a", 9), queued("a", "kept")] {
        store.send(message).await;
    }
    store.no_turn("the instance does not exist").await;
    let found: Vec<_> = parked(&store, 10).await.into_iter().map(|found| found.kind).collect();
    assert_eq!(found, ["QueueMessage"]);
    store.send(start_item("a")).await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![queued("a", "kept"), start_item("a")]);
}

/// The same holds when the commit of another instance enqueues the start.
pub async fn an_early_message_waits_for_a_child<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let early = queued("child", "early");
    store.send(early.clone()).await;
    store.no_turn("the child does not exist").await;
    store.send(start_item("parent")).await;
    let parent = store.turn_of("parent").await;
    let start = child_start_item("child", "parent");
    let starting = commit(&parent, vec![started("parent", 1)])
        .with_messages(&parent.item.instance, vec![start.clone()]);
    store.ack(starting).await.must("a commit that starts a child");
    assert_eq!(store.turn_of("child").await.item.messages, vec![early, start]);
}

/// Messages for a start that was abandoned with a delay wait until the start is visible.
pub async fn a_message_waits_for_a_hidden_start<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.send(start_item("a")).await;
    let held = store.turn_of("a").await;
    let delay = Some(store.lease() * 2);
    let abandoned = store.provider.abandon_orchestration_item(&held.token, delay, false).await;
    abandoned.must("abandoning a start with a delay");
    let later = vec![queued("a", "1"), signal("a", "2")];
    for message in &later {
        store.send(message.clone()).await;
        store.no_turn("the start is hidden").await;
    }
    store.pass(store.lease() * 2).await;
    store.expire().await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, [vec![start_item("a")], later].concat(), "nothing is lost");
}

/// The list of parked messages shows instance, kind and time, oldest first, up to the limit.
pub async fn parked_messages_are_listed<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    assert_eq!(parked(&store, 10).await, vec![]);
    let sent_from = store.now_ms();
    store.send(queued("ghost", "1")).await;
    store.pass(store.lease()).await;
    store.send(queued("other", "2")).await;
    store.no_turn("no instance can run").await;
    let listed = parked(&store, 10).await;
    let found: Vec<_> =
        listed.iter().map(|found| (found.instance_id.as_str(), found.kind.as_str())).collect();
    assert_eq!(found, [("ghost", "QueueMessage"), ("other", "QueueMessage")]);
    assert!(listed[0].enqueued_at >= sent_from, "the time is the enqueue time in milliseconds");
    assert!(listed[1].enqueued_at > listed[0].enqueued_at, "each has its own time");
    assert!(listed[1].enqueued_at <= store.now_ms());
    assert_eq!(parked(&store, 1).await, listed[..1], "the limit is respected");
    assert_eq!(parked(&store, 0).await, vec![], "the limit is respected");

    store.send(start_item("ghost")).await;
    let turn = store.turn_of("ghost").await;
    let own = commit(&turn, vec![started("ghost", 1)]).with_metadata(named());
    store.ack(own).await.must("a first commit");
    assert_eq!(parked(&store, 10).await, listed[1..], "delivered messages are no longer parked");
}

/// Messages of known instances, hidden messages and starts are not parked.
pub async fn runnable_messages_are_not_parked<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    store.send(signal("a", "1")).await;
    store.send_after(signal("a", "hidden"), store.lease()).await;
    store.send(start_item("b")).await;
    assert_eq!(parked(&store, 10).await, vec![]);
    while store.try_turn().await.is_some() {}
    assert_eq!(parked(&store, 10).await, vec![], "leased messages are not parked");
}
