//! Turns that nodes have released, and timers that the store has lost.

use std::time::Duration;

use duroxide::OrchestrationContext;
use duroxide::client::why::Cause;
use duroxide::providers::{ExecutionMetadata, OrchestrationItem};
use duroxide::runtime::RuntimeOptions;

use crate::world::{World, activities, approval, orchestrations};

on_every_store!(a_node_has_released_its_turn, a_timer_is_lost);

async fn fetch(world: &World) -> (OrchestrationItem, String) {
    let lease = Duration::from_secs(5);
    let fetched = world.store.fetch_orchestration_item(lease, Duration::ZERO, None).await;
    let (item, token, _attempts) = fetched.unwrap().expect("a turn");
    (item, token)
}

async fn a_node_has_released_its_turn(world: World) {
    let node = world.node(RuntimeOptions::default(), approval(), activities()).await;
    world.start("order-7", "Order").await;
    world.until("order-7", |why| why.waits.total > 0).await;
    node.shutdown(None).await;
    world.client.raise_event("order-7", "Approval", "yes").await.unwrap();
    let (_, token) = fetch(&world).await;
    let delay = Some(Duration::from_secs(8));
    world.store.abandon_orchestration_item(&token, delay, false).await.unwrap();
    let why = world
        .expect(
            "order-7",
            "
order-7 waits for 8s: a node has released its turn
  try: duroxide watch order-7  (shows what happens next)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (now)
next turn:
  no live node runs such work
  message ExternalRaised: 1 delayed, next 2023-11-14 22:13:28Z (in 8s)
",
        )
        .await;
    assert_eq!(why.cause, Cause::TurnDelayed { until_ms: 1_700_000_008_000 });
}

async fn a_timer_is_lost(world: World) {
    let code =
        orchestrations().register("Sleep", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_timer(Duration::from_secs(60)).await;
            Ok(String::new())
        });
    let node = world.node(RuntimeOptions::default(), code, activities()).await;
    world.start("sleeper", "Sleep").await;
    world.until("sleeper", |why| why.timers.total > 0).await;
    node.shutdown(None).await;
    world.clock.advance(Duration::from_secs(90));
    // A commit that takes the message and records nothing, as no node does.
    let (item, token) = fetch(&world).await;
    let metadata = ExecutionMetadata::default();
    let commit = world.store.ack_orchestration_item(
        &token,
        item.execution_id,
        vec![],
        vec![],
        vec![],
        metadata,
        vec![],
    );
    commit.await.unwrap();
    let why = world.until("sleeper", |why| why.turn.leased_until_ms.is_none()).await;
    assert_eq!(why.cause, Cause::Timer { timer_id: 2 });
    assert_eq!(why.summary(), "sleeper waits for timer #2, which is due and not in the queue");
    let timer = why.to_string();
    let expected = "  #2 overdue since 2023-11-14 22:14:20Z (30s ago), not in the queue";
    assert!(timer.lines().any(|line| line == expected), "{timer}");
}
