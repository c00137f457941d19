//! Positional signals and queues.

use std::time::Duration;

use duroxide::{Either2, OrchestrationContext};

use crate::support::{
    DEFAULT_MODE, Mode, Node, activities, cancellations, count, in_every_mode, orchestrations,
};

const QUEUE_SUBSCRIBED: &str = "ExternalSubscribedPersistent";
const QUEUE_DELIVERED: &str = "ExternalEventPersistent";

async fn two_waits(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_wait("Ready").await;
    let first = ctx.schedule_wait("Go");
    let second = ctx.schedule_wait("Go");
    let (first, second) = ctx.join2(first, second).await;
    Ok(format!("{first} {second}"))
}

/// Drops its first wait and receives the next signal with its second.
async fn drops_first_wait(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let dropped = ctx.schedule_wait("Go");
    let kept = ctx.schedule_wait("Go");
    let timeout = ctx.schedule_timer(Duration::ZERO);
    let won = ctx.select2(dropped, timeout).await;
    assert!(matches!(won, Either2::Second(())), "no signal was raised yet");
    Ok(kept.await)
}

async fn reads_three(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_wait("Start").await;
    let mut read = Vec::new();
    for _ in 0..3 {
        read.push(ctx.dequeue_event("letters").await);
    }
    read.push(ctx.dequeue_event("digits").await);
    Ok(read.join(" "))
}

/// Reads ten messages in each execution.
async fn reads_in_portions(ctx: OrchestrationContext, so_far: String) -> Result<String, String> {
    let mut read: Vec<String> =
        so_far.split(' ').filter(|one| !one.is_empty()).map(str::to_owned).collect();
    if ctx.execution_id() == 1 {
        ctx.schedule_wait("Start").await;
    }
    for _ in 0..10 {
        read.push(ctx.dequeue_event("numbers").await);
    }
    match read.len() {
        250.. => Ok(read.join(" ")),
        _more => ctx.continue_as_new(read.join(" ")).await,
    }
}

async fn signals_go_to_waits_by_position(mode: Mode) {
    let node = Node::start(mode, orchestrations().register("Two", two_waits), activities()).await;
    node.start_instance("two", "Two", "").await;
    node.wait_for_event("two", "ExternalSubscribed").await;
    // No wait is open for this signal: it is recorded and lost.
    node.client.raise_event("two", "Go", "early").await.unwrap();
    node.wait_for_event("two", "ExternalEvent").await;
    node.client.raise_event("two", "Ready", "").await.unwrap();
    node.wait_for_history("two", |history| count(history, "ExternalSubscribed") == 3).await;
    node.client.raise_event("two", "Go", "same").await.unwrap();
    node.client.raise_event("two", "Go", "same").await.unwrap();
    assert_eq!(node.output("two").await, "same same");
    assert_eq!(count(&node.history("two").await, "ExternalEvent"), 4);
    node.stop().await;
}

async fn a_dropped_wait_leaves_its_signal_to_the_next_wait(mode: Mode) {
    let node =
        Node::start(mode, orchestrations().register("Give", drops_first_wait), activities()).await;
    node.start_instance("give", "Give", "").await;
    node.wait_for_event("give", "ExternalSubscribedCancelled").await;
    node.client.raise_event("give", "Go", "for the second").await.unwrap();
    assert_eq!(node.output("give").await, "for the second");
    assert_eq!(cancellations(&node.history("give").await), [(2, "dropped_future")]);
    node.stop().await;
}

async fn queues_are_buffered_and_read_in_order(mode: Mode) {
    let registry = orchestrations().register("Read", reads_three);
    let node = Node::start(mode, registry, activities()).await;
    node.start_instance("read", "Read", "").await;
    node.client.enqueue_event("read", "digits", "1").await.unwrap();
    for letter in ["a", "b", "c", "d"] {
        node.client.enqueue_event("read", "letters", letter).await.unwrap();
    }
    node.wait_for_history("read", |history| count(history, QUEUE_DELIVERED) == 5).await;
    node.client.raise_event("read", "Start", "").await.unwrap();
    assert_eq!(node.output("read").await, "a b c 1");
    node.stop().await;
}

async fn continue_as_new_carries_every_unread_message_in_order(mode: Mode) {
    let registry = orchestrations().register("Portions", reads_in_portions);
    let node = Node::start(mode, registry, activities()).await;
    node.start_instance("read", "Portions", "").await;
    let numbers: Vec<String> = (0..250).map(|number| number.to_string()).collect();
    for number in &numbers {
        node.client.enqueue_event("read", "numbers", number).await.unwrap();
    }
    node.wait_for_history("read", |history| count(history, QUEUE_DELIVERED) == 250).await;
    node.client.raise_event("read", "Start", "").await.unwrap();
    assert_eq!(node.output("read").await, numbers.join(" "));
    assert_eq!(node.client.list_executions("read").await.unwrap().len(), 25);
    node.stop().await;
}

in_every_mode! {
    signals_go_to_waits_by_position,
    a_dropped_wait_leaves_its_signal_to_the_next_wait,
    queues_are_buffered_and_read_in_order,
    continue_as_new_carries_every_unread_message_in_order,
}

#[tokio::test]
async fn carried_messages_precede_newer_ones() {
    async fn next(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        if ctx.execution_id() == 1 {
            ctx.schedule_wait("Next").await;
            return ctx.continue_as_new("").await;
        }
        ctx.schedule_wait("Read").await;
        let (first, second) =
            ctx.join2(ctx.dequeue_event("queue"), ctx.dequeue_event("queue")).await;
        Ok(format!("{first} {second}"))
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Next", next), activities()).await;
    node.start_instance("next", "Next", "").await;
    node.client.enqueue_event("next", "queue", "carried").await.unwrap();
    node.wait_for_event("next", QUEUE_DELIVERED).await;
    node.client.raise_event("next", "Next", "").await.unwrap();
    node.wait_for_history("next", |history| {
        history[0].execution_id == 2 && count(history, "ExternalSubscribed") == 1
    })
    .await;
    node.client.enqueue_event("next", "queue", "newer").await.unwrap();
    node.wait_for_history("next", |history| count(history, QUEUE_DELIVERED) == 2).await;
    node.client.raise_event("next", "Read", "").await.unwrap();
    assert_eq!(node.output("next").await, "carried newer");
    node.stop().await;
}

#[tokio::test]
async fn a_dropped_dequeue_releases_its_position() {
    async fn release(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let dropped = ctx.dequeue_event("queue");
        let timeout = ctx.schedule_timer(Duration::ZERO);
        assert!(ctx.select2(dropped, timeout).await.is_second());
        Ok(ctx.dequeue_event("queue").await)
    }
    let registry = orchestrations().register("Release", release);
    let node = Node::start(DEFAULT_MODE, registry, activities()).await;
    node.start_instance("release", "Release", "").await;
    node.wait_for_history("release", |history| count(history, QUEUE_SUBSCRIBED) == 2).await;
    node.client.enqueue_event("release", "queue", "not lost").await.unwrap();
    assert_eq!(node.output("release").await, "not lost");
    node.stop().await;
}

#[tokio::test]
async fn signals_and_queues_of_one_name_are_independent() {
    async fn both(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let (signal, message) =
            ctx.join2(ctx.schedule_wait("same"), ctx.dequeue_event("same")).await;
        Ok(format!("{signal} {message}"))
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Both", both), activities()).await;
    node.start_instance("both", "Both", "").await;
    node.wait_for_event("both", QUEUE_SUBSCRIBED).await;
    node.client.enqueue_event("both", "same", "message").await.unwrap();
    node.client.raise_event("both", "same", "signal").await.unwrap();
    assert_eq!(node.output("both").await, "signal message");
    node.stop().await;
}

#[tokio::test]
async fn typed_signals_are_decoded_and_a_bad_one_fails_the_instance() {
    async fn typed(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        let number: u32 = ctx.schedule_wait_typed("number").await;
        let list: Vec<u32> = ctx.dequeue_event_typed("lists").await;
        Ok(format!("{number} {list:?}"))
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Typed", typed), activities()).await;
    for instance in ["good", "bad"] {
        node.start_instance(instance, "Typed", "").await;
        node.wait_for_event(instance, "ExternalSubscribed").await;
    }
    node.client.raise_event_typed("good", "number", &7).await.unwrap();
    node.client.enqueue_event_typed("good", "lists", &[1, 2]).await.unwrap();
    assert_eq!(node.output("good").await, "7 [1, 2]");
    node.client.raise_event("bad", "number", "seven").await.unwrap();
    let text = node.failure_text("bad").await;
    assert!(text.starts_with("orchestration panicked: decode: \""), "{text}");
    node.stop().await;
}

#[tokio::test]
async fn a_queue_message_in_the_batch_of_the_start_is_delivered() {
    async fn read(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        Ok(ctx.dequeue_event("queue").await)
    }
    let store = crate::support::memory().await;
    let client = duroxide::Client::new(store.clone());
    client.start_orchestration("read", "Read", "").await.unwrap();
    client.enqueue_event("read", "queue", "with the start").await.unwrap();
    let registry = orchestrations().register("Read", read);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, activities()).await;
    assert_eq!(node.output("read").await, "with the start");
    node.stop().await;
}
