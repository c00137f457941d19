//! Requests to end that the code answers in its own way.

use std::time::Duration;

use duroxide::providers::ManualClock;
use duroxide::{ActivityContext, CancelRequest, ClientError, Event, OrchestrationContext};

use crate::support::{
    Journal, Mode, Node, activities, count, in_every_mode, memory_with_clock, orchestrations,
};

const GRACE: Duration = Duration::from_secs(600);

/// Charges, ships, and refunds if it is asked to end before the shipment.
async fn order(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let receipt = ctx.schedule_activity("Note", format!("charge {input}")).await?;
    let ship = async {
        ctx.schedule_wait("Packed").await;
        ctx.schedule_activity("Note", "ship").await
    };
    match ctx.cancellable(ship).await {
        Ok(shipped) => shipped,
        Err(request) => {
            ctx.schedule_activity("Note", format!("refund: {receipt}")).await?;
            Err(format!("withdrawn: {}", request.reason))
        }
    }
}

/// Waits for two orders, and returns how each ended.
async fn cart(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let orders = ["a", "b"].map(|it| ctx.schedule_sub_orchestration_with_id("Order", it, it));
    let ends = ctx.join(orders.into()).await;
    let texts: Vec<String> = ends.into_iter().map(|end| end.unwrap_or_else(|it| it)).collect();
    Ok(texts.join(", "))
}

/// Gives its order up as soon as it is asked.
async fn hasty(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let order = ctx.schedule_sub_orchestration_with_id("Order", "given up", "x");
    match ctx.cancellable(order).await {
        Ok(end) => end,
        Err(request) => Ok(request.reason),
    }
}

async fn stubborn(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(ctx.schedule_wait("Never").await)
}

/// Ends only in its second execution, and only if it is asked there.
async fn second_run(ctx: OrchestrationContext, round: String) -> Result<String, String> {
    let request = ctx.cancelled().await;
    match round.as_str() {
        "1" => ctx.continue_as_new("2").await,
        _later => Ok(request.reason),
    }
}

async fn node(mode: Mode, journal: &Journal) -> (Node, std::sync::Arc<ManualClock>) {
    let code = orchestrations()
        .register("Order", order)
        .register("Cart", cart)
        .register("Hasty", hasty)
        .register("Stubborn", stubborn)
        .register("SecondRun", second_run);
    let journal = journal.clone();
    let note = move |_: ActivityContext, text: String| {
        let journal = journal.clone();
        async move {
            journal.write(text.clone());
            Ok(text)
        }
    };
    let (store, clock) = memory_with_clock().await;
    let node = Node::on(&store, mode.options(), code, activities().register("Note", note)).await;
    (node, clock)
}

async fn a_saga_that_is_asked_refunds(mode: Mode) {
    let journal = Journal::default();
    let (node, clock) = node(mode, &journal).await;
    node.start_instance("o", "Order", "1").await;
    node.wait_for_event("o", "ExternalSubscribed").await;
    node.client.request_cancellation("o", "changed my mind", GRACE).await.unwrap();
    assert_eq!(node.failure_text("o").await, "withdrawn: changed my mind");
    assert_eq!(journal.unread(), ["charge 1", "refund: charge 1"]);
    // The deadline finds an instance that has ended.
    clock.advance(GRACE * 2);
    node.wait_until_drained().await;
    assert_eq!(node.failure_text("o").await, "withdrawn: changed my mind");
    node.stop().await;
}

async fn children_are_asked_and_answer_in_their_own_way(mode: Mode) {
    let journal = Journal::default();
    let (node, _clock) = node(mode, &journal).await;
    node.start_instance("c", "Cart", "").await;
    for child in ["a", "b"] {
        node.wait_for_event(child, "ExternalSubscribed").await;
    }
    node.client.request_cancellation("c", "closing time", GRACE).await.unwrap();
    let expected = "withdrawn: closing time, withdrawn: closing time";
    assert_eq!(node.output("c").await, expected);
    node.stop().await;
}

async fn a_child_that_is_given_up_after_the_request_still_compensates(mode: Mode) {
    let journal = Journal::default();
    let (node, _clock) = node(mode, &journal).await;
    node.start_instance("h", "Hasty", "").await;
    node.wait_for_event("given up", "ExternalSubscribed").await;
    node.client.request_cancellation("h", "enough", GRACE).await.unwrap();
    assert_eq!(node.output("h").await, "enough");
    assert_eq!(node.failure_text("given up").await, "withdrawn: enough");
    assert_eq!(journal.unread(), ["charge x", "refund: charge x"]);
    node.stop().await;
}

async fn code_that_does_not_end_is_cancelled_at_the_deadline(mode: Mode) {
    let journal = Journal::default();
    let (node, clock) = node(mode, &journal).await;
    node.start_instance("s", "Stubborn", "").await;
    node.wait_for_event("s", "ExternalSubscribed").await;
    node.client.request_cancellation("s", "enough", GRACE).await.unwrap();
    node.wait_for_event("s", "ExternalEvent").await;
    clock.advance(GRACE - Duration::from_secs(1));
    // A later deadline changes nothing, and neither does the same request again.
    node.client.request_cancellation("s", "enough", GRACE).await.unwrap();
    node.client.raise_event("s", "Other", "").await.unwrap();
    let recorded = |history: &[Event]| count(history, "ExternalEvent") == 2;
    node.wait_for_history("s", recorded).await;
    let history = node.history("s").await;
    assert_eq!(history.iter().filter_map(CancelRequest::of).count(), 1);
    clock.advance(Duration::from_secs(1));
    assert_eq!(node.failure_text("s").await, "canceled: enough");
    node.stop().await;
}

async fn the_next_execution_is_asked_too(mode: Mode) {
    let journal = Journal::default();
    let (node, _clock) = node(mode, &journal).await;
    node.start_instance("r", "SecondRun", "1").await;
    node.wait_for_event("r", "OrchestrationStarted").await;
    node.client.request_cancellation("r", "enough", GRACE).await.unwrap();
    assert_eq!(node.output("r").await, "enough");
    node.stop().await;
}

async fn a_request_to_an_unknown_instance_is_an_error(mode: Mode) {
    let journal = Journal::default();
    let (node, _clock) = node(mode, &journal).await;
    let refused = node.client.request_cancellation("o", "too early", GRACE).await;
    assert!(matches!(refused, Err(ClientError::InstanceNotFound { .. })), "{refused:?}");
    // It does no harm to an instance that is started later.
    node.start_instance("o", "Order", "1").await;
    node.wait_for_event("o", "ExternalSubscribed").await;
    node.client.raise_event("o", "Packed", "").await.unwrap();
    assert_eq!(node.output("o").await, "ship");
    node.stop().await;
}

in_every_mode!(
    a_saga_that_is_asked_refunds,
    children_are_asked_and_answer_in_their_own_way,
    a_child_that_is_given_up_after_the_request_still_compensates,
    code_that_does_not_end_is_cancelled_at_the_deadline,
    the_next_execution_is_asked_too,
    a_request_to_an_unknown_instance_is_an_error,
);
