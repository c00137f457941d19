//! Waiting for nodes.

use std::time::Duration;

use duroxide::client::StrandedReason;
use duroxide::client::why::Cause;
use duroxide::providers::{
    AnnouncedTurns, RegisteredOrchestrations, SemverRange, WorkerAnnouncement,
};
use duroxide::runtime::RuntimeOptions;
use duroxide::{OrchestrationContext, current_build_version};
use semver::Version;

use crate::world::{World, activities, approval, orchestrations};

on_every_store!(
    a_tag_has_no_worker,
    a_handler_is_missing,
    a_handler_version_is_missing,
    a_replay_version_is_missing,
    a_start_is_queued,
    a_start_is_stranded,
    a_turn_is_leased_again_and_again,
);

async fn a_tag_has_no_worker(world: World) {
    let code =
        orchestrations().register("Album", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Resize", "").with_tag("gpu").await
        });
    let node = world.node(RuntimeOptions::default(), code, activities()).await;
    world.start("album", "Album").await;
    let why = world
        .expect(
            "album",
            r"
album waits for activity `Resize` with tag `gpu`: no live node serves its tag
  try: start a worker that serves tag `gpu` and has registered activity `Resize`
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Album 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
activities (1):
  #2 `Resize` queued since 2023-11-14 22:13:20Z (now), tag `gpu`, no live node serves its tag
",
        )
        .await;
    let reason = StrandedReason::TagWithoutWorker;
    assert_eq!(why.cause, Cause::ActivityStranded { activity_id: 2, reason });
    node.shutdown(None).await;
}

/// An order that waits and has an unread event, and no node.
async fn approved_order(world: &World) {
    let node = world.node(RuntimeOptions::default(), approval(), activities()).await;
    world.start("order-7", "Order").await;
    world.until("order-7", |why| why.waits.total > 0).await;
    node.shutdown(None).await;
    world.client.raise_event("order-7", "Approval", "yes").await.unwrap();
}

async fn a_handler_is_missing(world: World) {
    approved_order(&world).await;
    let other = orchestrations()
        .register("Other", |_: OrchestrationContext, _: String| async move { Ok(String::new()) });
    let node = world.node(RuntimeOptions::default(), other, activities()).await;
    let why = world
        .expect(
            "order-7",
            r"
order-7 waits for orchestration `Order 1.0.0`: no live node has registered it
  try: start a node that has registered orchestration `Order 1.0.0`
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (now)
next turn:
  ready since 2023-11-14 22:13:20Z (now)
  no live node has registered it
  message ExternalRaised: 1 ready
",
        )
        .await;
    assert_eq!(why.cause, Cause::TurnStranded { reason: StrandedReason::HandlerMissing });
    node.shutdown(None).await;
}

async fn a_handler_version_is_missing(world: World) {
    approved_order(&world).await;
    let later = orchestrations().register_versioned(
        "Order",
        "2.0.0",
        |_: OrchestrationContext, _: String| async move { Ok(String::new()) },
    );
    let node = world.node(RuntimeOptions::default(), later, activities()).await;
    world
        .expect(
            "order-7",
            r"
order-7 waits for orchestration `Order 1.0.0`: live nodes have registered it only in version 2.0.0
  try: start a node that has registered orchestration `Order 1.0.0`
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (now)
next turn:
  ready since 2023-11-14 22:13:20Z (now)
  live nodes have registered it only in version 2.0.0
  message ExternalRaised: 1 ready
",
        )
        .await;
    node.shutdown(None).await;
}

async fn a_replay_version_is_missing(world: World) {
    approved_order(&world).await;
    let nine = SemverRange::new(Version::new(9, 0, 0), Version::new(9, 9, 9));
    let options = RuntimeOptions::default().with_supported_replay_versions(nine);
    let node = world.node(options, approval(), activities()).await;
    let build = current_build_version().to_string();
    let expected = r"
order-7 waits for orchestration `Order 1.0.0`: no live node replays executions of Duroxide BUILD
  try: start a node that replays executions of Duroxide BUILD
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (now)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (now)
next turn:
  ready since 2023-11-14 22:13:20Z (now)
  no live node replays executions of Duroxide BUILD
  message ExternalRaised: 1 ready
"
    .replace("BUILD", &build);
    world.expect("order-7", &expected).await;
    node.shutdown(None).await;
}

/// A node that is live, could run orders and fetches nothing.
async fn busy_node(world: &World) {
    let build = current_build_version();
    let turns = AnnouncedTurns::none(build.clone())
        .with_replays(vec![SemverRange::new(Version::new(0, 1, 0), build)])
        .with_orchestrations(RegisteredOrchestrations::new([("Order", Version::new(1, 0, 0))]));
    let node = WorkerAnnouncement::new("busy", Duration::from_secs(3600)).with_turns(turns);
    world.store.announce_worker(&node).await.unwrap();
}

async fn a_start_is_queued(world: World) {
    busy_node(&world).await;
    world.start("order-7", "Order").await;
    world.clock.advance(Duration::from_secs(5));
    let why = world
        .expect(
            "order-7",
            r"
order-7 has not started: its start is queued for 5s
  try: wait for a free slot, or start another node that runs turns
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order`
start queued at 2023-11-14 22:13:20Z (5s ago)
next turn:
  ready since 2023-11-14 22:13:20Z (5s ago)
  message StartOrchestration: 1 ready
",
        )
        .await;
    assert_eq!((why.cause, why.execution_id), (Cause::NotStarted, None));
}

async fn a_start_is_stranded(world: World) {
    let client = &world.client;
    client.start_orchestration_versioned("order-7", "Order", "2.0.0", "").await.unwrap();
    world
        .expect(
            "order-7",
            r"
order-7 waits for orchestration `Order 2.0.0`: no live node runs such work
  try: start a node that runs turns of orchestration `Order 2.0.0`
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 2.0.0`
start queued at 2023-11-14 22:13:20Z (now)
next turn:
  ready since 2023-11-14 22:13:20Z (now)
  no live node runs such work
  message StartOrchestration: 1 ready
",
        )
        .await;
    busy_node(&world).await;
    world
        .expect(
            "order-7",
            r"
order-7 waits for orchestration `Order 2.0.0`: live nodes have registered it only in version 1.0.0
  try: start a node that has registered orchestration `Order 2.0.0`
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 2.0.0`
start queued at 2023-11-14 22:13:20Z (now)
next turn:
  ready since 2023-11-14 22:13:20Z (now)
  live nodes have registered it only in version 1.0.0
  message StartOrchestration: 1 ready
",
        )
        .await;
}

async fn a_turn_is_leased_again_and_again(world: World) {
    approved_order(&world).await;
    busy_node(&world).await;
    let fetch = || {
        let lease = Duration::from_secs(5);
        world.store.fetch_orchestration_item(lease, Duration::ZERO, None)
    };
    fetch().await.unwrap().expect("a turn");
    world.clock.advance(Duration::from_secs(6));
    world
        .expect(
            "order-7",
            r"
order-7 waits for a node to take its turn, for 6s
  try: wait for a free slot, or start another node that runs turns
  try: duroxide nodes  (lists the live nodes and what they run)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (6s ago)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (6s ago)
next turn:
  ready since 2023-11-14 22:13:20Z (6s ago), fetched once and not committed
  message ExternalRaised: 1 ready
",
        )
        .await;
    fetch().await.unwrap().expect("a turn");
    world
        .expect(
            "order-7",
            r"
order-7 is running: a node has leased its turn
  try: duroxide watch order-7  (shows what happens next)

orchestration `Order 1.0.0`, execution 1, 2 events
last changed 2023-11-14 22:13:20Z (6s ago)
events waited for (1):
  `Approval` since 2023-11-14 22:13:20Z (6s ago)
next turn:
  leased by a node until 2023-11-14 22:13:31Z (in 5s)
  ready since 2023-11-14 22:13:20Z (6s ago), fetched 2 times and not committed
  message ExternalRaised: 1 ready
",
        )
        .await;
}
