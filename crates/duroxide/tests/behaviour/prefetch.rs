//! Quick activities that a node leases before it has free slots for them.

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{ActivityContext, Either2, OrchestrationContext};
use tokio::sync::{Barrier, Semaphore};

use crate::faulty::{Faulty, LEASES_ASKED};
use crate::support::{DEFAULT_MODE, Journal, Node, activities, memory, orchestrations};

/// Runs all activities at once.
async fn fan(ctx: OrchestrationContext, width: String) -> Result<String, String> {
    let width: u32 = width.parse().map_err(|error| format!("{error}"))?;
    let calls = (1..=width).map(|call| ctx.schedule_activity("Step", call.to_string()));
    let done = ctx.join(calls.collect()).await;
    Ok(done.into_iter().filter(Result::is_ok).count().to_string())
}

/// Runs all activities at once, and drops them when the signal arrives.
async fn fan_or_signal(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let calls = (1..=40).map(|call| ctx.schedule_activity("Step", call.to_string()));
    match ctx.select2(ctx.schedule_wait("Stop"), ctx.join(calls.collect())).await {
        Either2::First(data) => Ok(data),
        Either2::Second(done) => Ok(done.len().to_string()),
    }
}

fn recording(journal: &Journal) -> ActivityRegistryBuilder {
    let journal = journal.clone();
    activities().register("Step", move |_: ActivityContext, input: String| {
        journal.write(input.clone());
        async move { Ok(input) }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_activities_of_a_wide_fan_out_are_leased_by_its_commit() {
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let journal = Journal::default();
    let registry = orchestrations().register("Fan", fan);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, recording(&journal)).await;
    assert_eq!(node.run("wide", "Fan", "200").await, "200");
    assert_eq!(journal.unread().len(), 200, "each ran once");
    assert_eq!(faulty.calls(LEASES_ASKED), 200, "more than the four slots");
    node.stop().await;
}

/// More activities than one node has slots wait for each other: they complete only if another node
/// runs those that the first one has leased and not started.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prefetched_activities_that_do_not_start_soon_are_released_to_other_nodes() {
    let store = memory().await;
    let all = Arc::new(Barrier::new(7));
    let waiting = || {
        let all = Arc::clone(&all);
        activities().register("Step", move |_: ActivityContext, input: String| {
            let all = Arc::clone(&all);
            async move {
                all.wait().await;
                Ok(input)
            }
        })
    };
    let fans = || orchestrations().register("Fan", fan);
    let one = Node::on(&store, DEFAULT_MODE.options(), fans(), waiting()).await;
    one.start_instance("meeting", "Fan", "7").await;
    let other = Node::on(&store, DEFAULT_MODE.options(), fans(), waiting()).await;
    assert_eq!(one.output("meeting").await, "7");
    one.stop().await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_activities_are_not_prefetched() {
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let slow = activities().register("Step", |_: ActivityContext, input: String| async move {
        tokio::time::sleep(Duration::from_millis(60)).await;
        Ok(input)
    });
    let registry = orchestrations().register("Fan", fan);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, slow).await;
    assert_eq!(node.run("first", "Fan", "12").await, "12");
    assert_eq!(faulty.calls(LEASES_ASKED), 12, "the node did not know their duration yet");
    assert!(faulty.calls("abandon_work_item") > 0, "prefetched in vain");
    assert_eq!(node.run("second", "Fan", "12").await, "12");
    // Releases are no measure here: the worker dispatcher releases an activity too, if a commit
    // has claimed the slot that its fetch offered.
    let leased = faulty.calls(LEASES_ASKED) - 12;
    assert!(
        leased < 4,
        "{leased} leases: the node knows their duration and leases free slots only"
    );
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prefetched_activity_that_a_turn_cancels_does_not_run() {
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let gated = {
        let (journal, permits) = (journal.clone(), Arc::clone(&permits));
        activities().register("Step", move |ctx: ActivityContext, input: String| {
            let (journal, permits) = (journal.clone(), Arc::clone(&permits));
            async move {
                journal.write(input.clone());
                tokio::select! {
                    _ = permits.acquire() => {}
                    () = ctx.cancelled() => {}
                }
                Ok(input)
            }
        })
    };
    let registry = orchestrations().register("FanOrSignal", fan_or_signal);
    let node = Node::start(DEFAULT_MODE, registry, gated).await;
    node.start_instance("i", "FanOrSignal", "").await;
    journal.next().await;
    node.client.raise_event("i", "Stop", "enough").await.unwrap();
    assert_eq!(node.output("i").await, "enough");
    permits.add_permits(1000);
    node.wait_until_drained().await;
    node.stop().await;
    // The four running ones, and what each slot may have started while the turn was committed.
    let started = journal.unread().len();
    assert!(started <= 8, "{started} activities started");
}
