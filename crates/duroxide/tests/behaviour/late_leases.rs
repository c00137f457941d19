//! A lease that expired is not lost while no other node has claimed the work.

use std::sync::Arc;
use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::Notify;

use crate::support::{
    Journal, Mode, Node, activities, eventually, in_every_mode, memory_with_clock, orchestrations,
};

/// Longer than every lease.
const LONG: Duration = Duration::from_secs(3600);

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
    let node = Node::on(&store, mode.options(), registry, activities()).await;
    assert_eq!(node.run("slow", "Slow", "").await, "done");
    assert_eq!(journal.unread(), ["turn"], "it ran once");
    node.stop().await;
}

/// The result was refused although no one else wanted the activity, and it ran until it was
/// poisoned.
async fn an_activity_that_outlives_its_lease_is_completed(mode: Mode) {
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
    let node = Node::on(&store, mode.options(), registry, handlers).await;
    assert_eq!(node.run("slow", "Call", "").await, "done");
    assert_eq!(journal.unread(), ["attempt 1"], "it ran once");
    node.stop().await;
}

/// The node claimed its own activity again whenever a test moved the clock beyond the lease: the
/// activity ran ten times and was poisoned.
async fn a_clock_that_jumps_takes_nothing_from_a_live_node(mode: Mode) {
    let (store, clock) = memory_with_clock().await;
    let (go, journal) = (Arc::new(Notify::new()), Journal::default());
    let handlers = || waiting(&go, &journal);
    let registry = || {
        orchestrations()
            .register("Call", |ctx: OrchestrationContext, _: String| async move {
                ctx.schedule_activity("Wait", "").await
            })
            .register("Bound", |ctx: OrchestrationContext, _: String| async move {
                ctx.schedule_activity_on_session("Wait", "", "session").await
            })
            .register("Echo", |_: OrchestrationContext, input: String| async move { Ok(input) })
    };
    let holder = Node::on(&store, mode.options(), registry(), handlers()).await;
    for (instance, orchestration) in [("free", "Call"), ("bound", "Bound")] {
        holder.start_instance(instance, orchestration, "").await;
        assert_eq!(journal.next().await, "attempt 1");
        // Another node of the same process takes nothing either.
        let other = Node::on(&store, mode.options(), registry(), handlers()).await;
        for jump in 0..12 {
            clock.advance(LONG);
            // Every dispatcher has polled since the jump.
            let echo = format!("{instance}-{jump}");
            assert_eq!(other.run(&echo, "Echo", "heard").await, "heard");
        }
        go.notify_one();
        assert_eq!(holder.output(instance).await, "done");
        assert!(journal.unread().is_empty(), "it ran once");
        other.stop().await;
    }
    holder.stop().await;
}

in_every_mode! {
    a_turn_that_outlives_its_lease_is_committed,
    an_activity_that_outlives_its_lease_is_completed,
    a_clock_that_jumps_takes_nothing_from_a_live_node,
}

/// An activity that waits until the test notifies it.
fn waiting(go: &Arc<Notify>, journal: &Journal) -> ActivityRegistryBuilder {
    let (go, journal) = (Arc::clone(go), journal.clone());
    activities().register("Wait", move |ctx: ActivityContext, _: String| {
        let (go, journal) = (Arc::clone(&go), journal.clone());
        async move {
            journal.write(format!("attempt {}", ctx.attempt()));
            tokio::select! {
                () = go.notified() => Ok("done".to_owned()),
                () = ctx.cancelled() => Ok("cancelled".to_owned()),
            }
        }
    })
}

/// The lease of an activity expires by a clock that jumps, and its next renewal reclaims it.
#[tokio::test]
async fn a_renewal_reclaims_an_expired_lease() {
    let (store, clock) = memory_with_clock().await;
    let faulty = crate::faulty::Faulty::new(store);
    let (go, journal) = (Arc::new(Notify::new()), Journal::default());
    let handlers = waiting(&go, &journal);
    let registry = orchestrations()
        .register("Call", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Wait", "").await
        });
    let options = RuntimeOptions {
        worker_lock_timeout: Duration::from_millis(200),
        worker_lock_renewal_buffer: Duration::ZERO,
        // One slot and no leases by commit: while the activity runs, no fetch extends its lease.
        ..Mode { warm: false, concurrency: 1 }.options()
    };
    let store: Arc<dyn duroxide::providers::Provider> = Arc::clone(&faulty) as _;
    let node = Node::on(&store, options, registry, handlers).await;
    node.start_instance("order", "Call", "").await;
    assert_eq!(journal.next().await, "attempt 1");
    clock.advance(LONG);
    eventually(|| faulty.calls("reclaim_work_item_lock") > 0).await;
    go.notify_one();
    assert_eq!(node.output("order").await, "done");
    node.stop().await;
}
