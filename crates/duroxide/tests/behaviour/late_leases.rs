//! A lease that expired is not lost while no other node has claimed the work.

use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::Notify;

use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, activities, eventually, in_every_mode, memory_with_clock,
    orchestrations, within,
};

/// Longer than every lease.
const LONG: Duration = Duration::from_secs(3600);

/// One slot each, so that this node cannot claim its own work again.
fn one_slot(mode: Mode) -> RuntimeOptions {
    RuntimeOptions { orchestration_concurrency: 1, worker_concurrency: 1, ..mode.options() }
}

/// The commit was refused although no one else wanted the turn, and the refusal counted as an
/// attempt: a turn that took longer than its lease was poisoned.
async fn a_turn_that_outlives_its_lease_is_committed(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let (journal, moved) = (Journal::default(), clock.clone());
    let written = journal.clone();
    let registry = orchestrations().register("Slow", move |_: OrchestrationContext, _: String| {
        written.write("turn");
        moved.advance(LONG);
        async move { Ok("done".to_owned()) }
    });
    let node = Node::on(&store, one_slot(mode), registry, activities()).await;
    assert_eq!(node.run("slow", "Slow", "").await, "done");
    assert_eq!(journal.unread(), ["turn"], "it ran once");
    node.stop().await;
}

in_every_mode! {
    a_turn_that_outlives_its_lease_is_committed,
}

/// The result was refused although no one else wanted the activity, and it ran until it was
/// poisoned.
#[tokio::test]
async fn an_activity_that_outlives_its_lease_is_completed() {
    let mode = Mode { warm: false, concurrency: 1 };
    let (store, clock) = memory_with_clock().await;
    let (journal, moved) = (Journal::default(), clock.clone());
    let written = journal.clone();
    let handlers = activities().register("Slow", move |ctx: ActivityContext, _: String| {
        written.write(format!("attempt {}", ctx.attempt()));
        moved.advance(LONG);
        async move { Ok("done".to_owned()) }
    });
    let registry = orchestrations()
        .register("Call", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Slow", "").await
        });
    let node = Node::on(&store, one_slot(mode), registry, handlers).await;
    assert_eq!(node.run("slow", "Call", "").await, "done");
    assert_eq!(journal.unread(), ["attempt 1"], "it ran once");
    node.stop().await;
}

/// The lease of an activity expires by a clock that jumps, and its next renewal reclaims it.
#[tokio::test]
async fn a_renewal_reclaims_an_expired_lease() {
    let (store, clock) = memory_with_clock().await;
    let faulty = crate::faulty::Faulty::new(store);
    let (go, journal) = (Arc::new(Notify::new()), Journal::default());
    let (opened, written) = (Arc::clone(&go), journal.clone());
    let handlers = activities().register("Wait", move |ctx: ActivityContext, _: String| {
        let (go, journal) = (Arc::clone(&opened), written.clone());
        async move {
            journal.write("started");
            tokio::select! {
                () = go.notified() => Ok("done".to_owned()),
                () = ctx.cancelled() => Ok("cancelled".to_owned()),
            }
        }
    });
    let registry = orchestrations()
        .register("Call", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Wait", "").await
        });
    let options = RuntimeOptions {
        worker_lock_timeout: Duration::from_millis(200),
        worker_lock_renewal_buffer: Duration::ZERO,
        ..one_slot(DEFAULT_MODE)
    };
    let store: Arc<dyn duroxide::providers::Provider> = Arc::clone(&faulty) as _;
    let node = Node::on(&store, options, registry, handlers).await;
    node.start_instance("order", "Call", "").await;
    assert_eq!(within(journal.next()).await, "started");
    clock.advance(LONG);
    eventually(|| faulty.calls("reclaim_work_item_lock") > 0).await;
    go.notify_one();
    assert_eq!(node.output("order").await, "done");
    node.stop().await;
}
