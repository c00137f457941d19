//! Messages come back unchanged, reach their instance, and a turn contains all visible ones.

use duroxide_core::ErrorDetails;
use duroxide_core::providers::WorkItem;

use crate::ProviderFactory;
use crate::support::{
    Must, Store, activity, child_start_item, commit, completed, create_instance_with_parent, heard,
    queued, signal, start_item, timer,
};

fn details() -> ErrorDetails {
    ErrorDetails::Infrastructure {
        operation: "test".to_owned(),
        message: "broken".to_owned(),
        retryable: true,
    }
}

/// One message of every kind for "a", with every field set.
fn every_kind(now_ms: u64) -> Vec<WorkItem> {
    let instance = || "a".to_owned();
    let (parent_execution_id, parent_id) = (1, 4);
    vec![
        child_start_item("a", "parent"),
        start_item("a"),
        completed("a", 2),
        WorkItem::ActivityFailed {
            instance: instance(),
            execution_id: 1,
            id: 3,
            details: details(),
        },
        timer("a", 5, now_ms),
        signal("a", "1"),
        WorkItem::SubOrchCompleted {
            parent_instance: instance(),
            parent_execution_id,
            parent_id,
            result: "done".to_owned(),
        },
        WorkItem::SubOrchFailed {
            parent_instance: instance(),
            parent_execution_id,
            parent_id,
            details: details(),
        },
        WorkItem::CancelInstance { instance: instance(), reason: "enough".to_owned() },
        WorkItem::ContinueAsNew {
            instance: instance(),
            orchestration: "TestOrch".to_owned(),
            input: "next".to_owned(),
            version: Some("2.0.0".to_owned()),
            parent_instance: Some("parent".to_owned()),
            parent_id: Some(2),
            parent_execution_id: Some(1),
            carry_forward_events: vec![("queue".to_owned(), "unread".to_owned())],
            initial_custom_status: Some("status".to_owned()),
        },
        queued("a", "2"),
    ]
}

/// Every kind of message comes back unchanged, whether enqueued directly or by a commit.
pub async fn every_kind_of_message_comes_back_unchanged<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let messages = every_kind(store.now_ms());
    for message in &messages {
        store.send(message.clone()).await;
    }
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, messages, "sent directly");
    let echo = commit(&turn, vec![]).with_messages(&turn.item.instance, messages.clone());
    store.ack(echo).await.must("a commit with messages of every kind");
    assert_eq!(store.turn_of("a").await.item.messages, messages, "sent by a commit");
}

/// A turn contains every visible message, however many exist.
pub async fn a_turn_holds_all_visible_messages<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let messages: Vec<_> = (0..250).map(|number| queued("a", &number.to_string())).collect();
    for message in &messages {
        store.send(message.clone()).await;
    }
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, messages, "all messages, oldest first");
    store.ack(commit(&turn, vec![])).await.must("a commit");
    store.no_turn("all are consumed").await;
}

/// A delayed message is hidden for its delay and does not block others.
pub async fn a_delayed_message_is_hidden<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let delay = store.lease() * 2;
    store.send_after(signal("a", "delayed"), delay).await;
    store.no_turn("the delay has just started").await;
    store.send(signal("a", "now")).await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![signal("a", "now")]);
    store.ack(commit(&turn, vec![])).await.must("a commit");
    store.pass(delay / 2).await;
    store.no_turn("the delay is not over").await;
    store.pass(delay / 2).await;
    store.expire().await;
    let turn = store.turn_of("a").await;
    assert_eq!(turn.item.messages, vec![signal("a", "delayed")]);
    assert_eq!(turn.attempt, 1, "hiding does not count as an attempt");
}

/// The orchestrator queue refuses an activity; a commit discards an activity among its messages.
pub async fn the_orchestrator_queue_accepts_no_activity<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let sent = store.provider.enqueue_for_orchestrator(activity("a", 2), None).await;
    sent.must_fail_for_good("enqueueing an activity for an orchestration");
    store.send(signal("a", "1")).await;
    let turn = store.turn_of("a").await;
    let mixed = commit(&turn, vec![])
        .with_messages(&turn.item.instance, vec![activity("a", 2), signal("a", "2")]);
    store.ack(mixed).await.must("a commit with an activity among its messages");
    assert_eq!(store.turn_of("a").await.item.messages, vec![signal("a", "2")]);
    store.no_work("the activity was discarded").await;
}

/// The worker queue refuses a message, and only a result completes an activity.
pub async fn the_worker_queue_accepts_no_message<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("a").await;
    let sent = store.provider.enqueue_for_worker(signal("a", "1")).await;
    sent.must_fail_for_good("enqueueing a message for a worker");
    store.send_work(activity("a", 2)).await;
    let work = store.work().await;
    let finished = store.provider.ack_work_item(&work.token, Some(signal("a", "1"))).await;
    finished.must_fail_for_good("completing an activity with a message that is not a result");
    store.no_turn("nothing was sent").await;
    let finished = store.provider.ack_work_item(&work.token, Some(completed("a", 2))).await;
    finished.must("completing an activity with its result");
}

/// A commit may enqueue messages for other instances; each message reaches its instance.
pub async fn messages_reach_their_instance<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    store.create("parent").await;
    create_instance_with_parent(&*store.provider, "child", "parent").await;
    store.send(signal("child", "1")).await;
    let child = store.turn_of("child").await;
    let result = WorkItem::SubOrchCompleted {
        parent_instance: "parent".to_owned(),
        parent_execution_id: 1,
        parent_id: 2,
        result: "done".to_owned(),
    };
    let ending = commit(&child, vec![heard("child", 1, 2)])
        .with_messages(&child.item.instance, vec![result.clone()]);
    store.ack(ending).await.must("a commit that sends the result to the parent");
    assert_eq!(store.turn_of("parent").await.item.messages, vec![result]);
    store.no_turn("the child has no message").await;
}
