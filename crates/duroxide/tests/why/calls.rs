//! Waiting for events, queues, children and timers.

use std::time::Duration;

use duroxide::OrchestrationContext;
use duroxide::client::why::Cause;
use duroxide::runtime::RuntimeOptions;

use crate::world::{World, activities, approval, orchestrations};

on_every_store!(
    an_event_is_waited_for,
    a_queue_is_waited_for_while_others_have_messages,
    a_child_is_waited_for,
    a_timer_is_waited_for,
    an_overdue_timer_waits_for_a_node,
);

async fn an_event_is_waited_for(world: World) {
    let node = world.node(RuntimeOptions::default(), approval(), activities()).await;
    world.start("order-7", "Order").await;
    let why = world
        .expect(
            "order-7",
            r"
order-7 waits for event `Approval`
  try: duroxide raise order-7 Approval  (delivers the event; add DATA)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (now)
",
        )
        .await;
    assert_eq!(why.cause, Cause::Event { name: "Approval".to_owned() });
    node.shutdown(None).await;
}

async fn a_queue_is_waited_for_while_others_have_messages(world: World) {
    let code = orchestrations()
        .register("Till", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.dequeue_event("payments").await)
        });
    let node = world.node(RuntimeOptions::default(), code, activities()).await;
    world.start("till", "Till").await;
    for data in ["1", "2"] {
        world.client.enqueue_event("till", "refunds", data).await.unwrap();
    }
    world.client.raise_event("till", "payments", "an event is no message").await.unwrap();
    world
        .expect(
            "till",
            r"
till waits for a message of queue `payments`
  try: duroxide enqueue till payments  (sends a message; add DATA)

orchestration `Till 1.0.0`, execution 1, 5 events
last changed 2023-11-14 22:13:20Z (now)
queues waited for (1):
  `payments` since 2023-11-14 22:13:20Z (now)
messages of queues that no read has taken (2):
  `refunds`: 2
events that no wait was open for; not delivered (1):
  `payments`: 1
",
        )
        .await;
    node.shutdown(None).await;
}

async fn a_child_is_waited_for(world: World) {
    let code = approval().register("Parent", |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_sub_orchestration("Order", "").await
    });
    let node = world.node(RuntimeOptions::default(), code, activities()).await;
    world.start("parent", "Parent").await;
    let why = world
        .expect(
            "parent",
            r"
parent waits for child `parent::sub::2`, which is running
  try: duroxide why parent::sub::2  (says why the child waits)

orchestration `Parent 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
children (1):
  `parent::sub::2` (`Order`) is running, requested 2023-11-14 22:13:20Z (now)
",
        )
        .await;
    assert_eq!(why.cause, Cause::Child { instance: "parent::sub::2".to_owned() });
    world
        .expect(
            "parent::sub::2",
            r"
parent::sub::2 waits for event `Approval`
  try: duroxide raise parent::sub::2 Approval  (delivers the event; add DATA)

orchestration `Order 1.0.0`, execution 1, 2 events, child of `parent`
last changed 2023-11-14 22:13:20Z (now)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (now)
",
        )
        .await;
    node.shutdown(None).await;
}

async fn a_timer_is_waited_for(world: World) {
    let node = world.node(RuntimeOptions::default(), sleeper(), activities()).await;
    world.start("sleeper", "Sleep").await;
    world
        .expect(
            "sleeper",
            r"
sleeper waits for timer #2, due in 1m 0s

orchestration `Sleep 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
timers (1):
  #2 due 2023-11-14 22:14:20Z (in 1m 0s)
next turn:
  message TimerFired: 1 delayed, next 2023-11-14 22:14:20Z (in 1m 0s)
",
        )
        .await;
    node.shutdown(None).await;
}

async fn an_overdue_timer_waits_for_a_node(world: World) {
    let node = world.node(RuntimeOptions::default(), sleeper(), activities()).await;
    world.start("sleeper", "Sleep").await;
    world.until("sleeper", |why| why.cause == Cause::Timer { timer_id: 2 }).await;
    node.shutdown(None).await;
    world.clock.advance(Duration::from_secs(360));
    world
        .expect(
            "sleeper",
            r"
sleeper waits for orchestration `Sleep 1.0.0`: no live node runs such work
  try: start a node that runs turns of orchestration `Sleep 1.0.0`
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Sleep 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (6m 0s ago)
timers (1):
  #2 overdue since 2023-11-14 22:14:20Z (5m 0s ago)
next turn:
  ready since 2023-11-14 22:14:20Z (5m 0s ago)
  no live node runs such work
  message TimerFired: 1 ready
",
        )
        .await;
}

fn sleeper() -> duroxide::OrchestrationRegistryBuilder {
    orchestrations().register("Sleep", |ctx: OrchestrationContext, _: String| async move {
        ctx.schedule_timer(Duration::from_secs(60)).await;
        Ok(String::new())
    })
}
