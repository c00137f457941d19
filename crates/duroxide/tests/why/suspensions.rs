//! Suspended instances.

use std::time::Duration;

use duroxide::OrchestrationContext;
use duroxide::client::why::Cause;
use duroxide::runtime::RuntimeOptions;

use crate::world::{World, activities, approval, orchestrations};

on_every_store!(an_operator_has_suspended_it, its_code_disagrees_with_its_history);

async fn an_operator_has_suspended_it(world: World) {
    let node = world.node(RuntimeOptions::default(), approval(), activities()).await;
    world.start("order-7", "Order").await;
    world.until("order-7", |why| why.waits.total > 0).await;
    world.client.suspend_instance("order-7", "the bank is being moved").await.unwrap();
    world.client.raise_event("order-7", "Approval", "yes").await.unwrap();
    // Announcements last for longer.
    world.clock.advance(Duration::from_secs(60));
    let why = world
        .expect(
            "order-7",
            r"
order-7 is suspended by an operator: the bank is being moved
  try: duroxide resume order-7  (lets it go on)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (1m 0s ago)
suspended since 2023-11-14 22:13:20Z (1m 0s ago)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (1m 0s ago)
next turn:
  ready since 2023-11-14 22:13:20Z (1m 0s ago)
  message ExternalRaised: 1 ready
",
        )
        .await;
    assert_eq!(why.cause, Cause::Suspended);
    node.shutdown(None).await;
}

async fn its_code_disagrees_with_its_history(world: World) {
    let node = world.node(RuntimeOptions::default(), approval(), activities()).await;
    world.start("order-7", "Order").await;
    world.until("order-7", |why| why.waits.total > 0).await;
    node.shutdown(None).await;
    let changed =
        orchestrations().register("Order", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_timer(Duration::from_secs(1)).await;
            Ok(ctx.schedule_wait("Approval").await)
        });
    let node = world.node(RuntimeOptions::default(), changed, activities()).await;
    world.client.raise_event("order-7", "Approval", "yes").await.unwrap();
    world
        .expect(
            "order-7",
            r#"
order-7 is suspended: its code disagrees with its history
  try: deploy code that agrees with the history; nodes then go on
  try: duroxide resume order-7  (tries the code at once)
  try: duroxide history order-7  (shows what the code did before)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
suspended since 2023-11-14 22:13:20Z (now)
  nondeterministic: schedule mismatch: action=CreateTimer { scheduling_event_id: 0, fire_at_ms:
    1700000001000 } vs event=ExternalSubscribed { name: "Approval" } (event 2, differs in kind)
  a node tries it again at 2023-11-14 22:13:25Z (in 5s)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (now)
next turn:
  ready since 2023-11-14 22:13:20Z (now)
  message ExternalRaised: 1 ready
"#,
        )
        .await;
    node.shutdown(None).await;
}
