//! Direct turns: from the completion of an activity to the commit without a fetch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use duroxide::providers::{Provider, ProviderError};
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{ActivityContext, Either2, Event, EventKind, OrchestrationContext};
use tokio::sync::Notify;

use crate::faulty::{DIRECT_ANSWER, DIRECT_REFUSED, DIRECT_TAKEN, Faulty, LEASES_LOST};
use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, activities, count, eventually, has, in_every_mode, kinds,
    memory, memory_with_clock, orchestrations,
};

/// Runs one step after the other.
async fn chain(ctx: OrchestrationContext, steps: String) -> Result<String, String> {
    let steps: u32 = steps.parse().map_err(|error| format!("{error}"))?;
    let mut done = Vec::new();
    for step in 1..=steps {
        done.push(ctx.schedule_activity("Step", step.to_string()).await?);
    }
    Ok(done.join(" "))
}

/// Runs all steps at once.
async fn fan(ctx: OrchestrationContext, width: String) -> Result<String, String> {
    let width: u32 = width.parse().map_err(|error| format!("{error}"))?;
    let calls = (1..=width).map(|call| ctx.schedule_activity("Step", call.to_string()));
    let results: Result<Vec<String>, String> =
        ctx.join(calls.collect()).await.into_iter().collect();
    let sum: u32 = results?.iter().map(|result| result.parse::<u32>().unwrap()).sum();
    Ok(sum.to_string())
}

/// Returns whichever comes first, the signal or the activity.
async fn signal_or_work(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let work = ctx.schedule_activity("Held", "");
    match ctx.select2(ctx.schedule_wait("Signal"), work).await {
        Either2::First(data) => Ok(format!("received {data}")),
        Either2::Second(done) => Ok(format!("worked {done:?}")),
    }
}

/// Records each step that runs.
fn steps(journal: &Journal) -> ActivityRegistryBuilder {
    let journal = journal.clone();
    activities().register("Step", move |_: ActivityContext, input: String| {
        journal.write(input.clone());
        async move { Ok(input) }
    })
}

async fn faulty_memory() -> (Arc<Faulty>, Arc<dyn Provider>) {
    let faulty = Faulty::new(memory().await);
    (faulty.clone(), faulty)
}

/// The activities that a history has completions of, in order.
fn completed(history: &[Event]) -> Vec<u64> {
    let completions = history.iter().filter(|event| {
        matches!(event.kind, EventKind::ActivityCompleted { .. } | EventKind::ActivityFailed { .. })
    });
    completions.filter_map(|event| event.source_event_id).collect()
}

#[track_caller]
fn assert_each_completed_once(history: &[Event], activities: usize) {
    let mut completed = completed(history);
    completed.sort_unstable();
    let all = completed.len();
    completed.dedup();
    assert_eq!((all, completed.len()), (activities, activities), "{:?}", kinds(history));
    assert_eq!(count(history, "ActivityScheduled"), activities);
}

/// Each result takes one of two paths: a direct turn, or the queue.
#[track_caller]
fn assert_each_on_one_path(faulty: &Faulty, mode: Mode, steps: u32) {
    let (direct, queued) = (faulty.calls(DIRECT_TAKEN), faulty.calls("ack_work_item"));
    assert_eq!(direct + queued, steps, "{direct} direct, {queued} through the queue");
    // The first ones may complete before the response to the commit that scheduled them.
    assert_eq!(direct > 0, mode.warm, "{direct} direct, {queued} through the queue");
}

async fn a_chain_runs_in_direct_turns(mode: Mode) {
    let (faulty, store) = faulty_memory().await;
    let journal = Journal::default();
    let registry = orchestrations().register("Chain", chain);
    let node = Node::on(&store, mode.options(), registry, steps(&journal)).await;
    node.run("chain", "Chain", "50").await;
    assert_eq!(journal.unread(), numbers(50), "each step once, in order");
    assert_each_completed_once(&node.history("chain").await, 50);
    let counts = node.stop_and_count().await;
    assert_each_on_one_path(&faulty, mode, 50);
    let fetched = faulty.calls("commit_turn");
    assert_eq!(fetched, 1 + faulty.calls("ack_work_item"), "the start, and the queued results");
    assert_eq!((counts.orch_starts, counts.orch_completions, counts.orch_failures), (1, 1, 0));
    assert_eq!(counts.activity_success, 50);
}

fn numbers(last: u32) -> Vec<String> {
    (1..=last).map(|number| number.to_string()).collect()
}

/// The stored history does not depend on the path of the turns.
async fn histories_are_equal_with_and_without_direct_turns(mode: Mode) {
    let mut stored = Vec::new();
    for direct in [true, false] {
        let (faulty, store) = faulty_memory().await;
        if !direct {
            faulty.fetched_turns_only();
        }
        let registry = orchestrations().register("Chain", chain);
        let node = Node::on(&store, mode.options(), registry, steps(&Journal::default())).await;
        node.run("chain", "Chain", "7").await;
        let history = node.history("chain").await;
        let facts: Vec<_> = history
            .into_iter()
            .map(|event| (event.event_id, event.source_event_id, event.kind))
            .collect();
        stored.push(facts);
        node.stop().await;
    }
    assert_eq!(stored[0], stored[1]);
}

async fn every_result_of_a_wide_fan_out_is_recorded_once(mode: Mode) {
    // Without the cache every turn replays the whole history.
    let width: usize = if mode.warm { 1000 } else { 200 };
    let (faulty, store) = faulty_memory().await;
    faulty.hold_direct_turns();
    let ran = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&ran);
    let work = activities().register("Step", move |_: ActivityContext, input: String| {
        counting.fetch_add(1, Ordering::SeqCst);
        async move { Ok(input) }
    });
    let options = RuntimeOptions { worker_concurrency: 16, ..mode.options() };
    let registry = orchestrations().register("Fan", fan);
    let node = Node::on(&store, options, registry, work).await;
    node.start_instance("fan", "Fan", &width.to_string()).await;
    // The first turn is held until all activities have completed, so that they wait for it.
    eventually(|| ran.load(Ordering::SeqCst) == width).await;
    faulty.let_direct_turns_go();
    assert_eq!(node.output("fan").await, (width * (width + 1) / 2).to_string());
    assert_each_completed_once(&node.history("fan").await, width);
    assert_eq!(ran.load(Ordering::SeqCst), width, "each ran once");
    if mode.warm {
        let turns = faulty.calls(DIRECT_TAKEN) + faulty.calls("commit_turn");
        assert!(turns < 100, "{turns} turns: waiting results share a turn");
    }
    node.stop().await;
}

/// If the commit fails before it takes effect, the result goes through the queue.
async fn a_failed_direct_turn_goes_through_the_queue(mode: Mode) {
    for error in [
        ProviderError::retryable("commit_direct_turn", "busy"),
        ProviderError::permanent("commit_direct_turn", "refused"),
    ] {
        let (faulty, store) = faulty_memory().await;
        let journal = Journal::default();
        let registry = orchestrations().register("Chain", chain);
        let node = Node::on(&store, mode.options(), registry, steps(&journal)).await;
        faulty.fail("commit_direct_turn", 1, error);
        node.run("chain", "Chain", "50").await;
        assert_eq!(journal.unread(), numbers(50), "each ran once");
        assert_each_completed_once(&node.history("chain").await, 50);
        let counts = node.stop_and_count().await;
        assert_each_on_one_path(&faulty, mode, 50);
        assert!(
            !mode.warm || faulty.calls("ack_work_item") > 0,
            "one of them went through the queue"
        );
        assert_eq!((counts.orch_completions, counts.orch_failures), (1, 0));
        assert_eq!((counts.activity_success, counts.activity_infra_errors), (50, 0));
    }
}

in_every_mode! {
    a_chain_runs_in_direct_turns,
    histories_are_equal_with_and_without_direct_turns,
    every_result_of_a_wide_fan_out_is_recorded_once,
    a_failed_direct_turn_goes_through_the_queue,
}

/// The turn was committed, but the node does not get the response: nothing runs twice, and the
/// activity that the turn leased runs when its lease has expired.
async fn a_lost_commit_response_repeats_nothing_on(concurrency: usize) {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let journal = Journal::default();
    let registry = orchestrations().register("Chain", chain);
    let mode = Mode { warm: true, concurrency };
    let node = Node::on(&store, mode.options(), registry, steps(&journal)).await;
    faulty.hiccup(DIRECT_ANSWER, 1);
    node.start_instance("chain", "Chain", "50").await;
    // More if the next activity found no slot and went through the queue.
    eventually(|| faulty.calls(DIRECT_ANSWER) >= 1).await;
    let lost = completed(&node.history("chain").await).len();
    assert!(lost > 0, "the turn was committed");
    // With one slot the turn may have run without a slot: then the next activity is in the queue,
    // and the chain continues on its own.
    if faulty.calls(LEASES_LOST) > 0 {
        // The node sends the result to the queue, which refuses it; then no lease is in use.
        eventually(|| faulty.calls("reclaim_work_item_lock") > 0).await;
        clock.advance(mode.options().worker_lock_timeout);
    }
    assert_eq!(node.output("chain").await, numbers(50).join(" "));
    assert_eq!(journal.unread(), numbers(50), "each step once");
    assert_each_completed_once(&node.history("chain").await, 50);
    // Also the step whose response was lost.
    assert_eq!(node.stop_and_count().await.activity_success, 50);
}

#[tokio::test]
async fn a_lost_commit_response_repeats_nothing() {
    a_lost_commit_response_repeats_nothing_on(4).await;
}

#[tokio::test]
async fn a_lost_commit_response_repeats_nothing_with_one_slot() {
    a_lost_commit_response_repeats_nothing_on(1).await;
}

/// The response to the last commit is lost, and the instance is complete nevertheless.
#[tokio::test]
async fn an_instance_completes_although_the_last_commit_response_is_lost() {
    let (faulty, store) = faulty_memory().await;
    let journal = Journal::default();
    let registry = orchestrations().register("Chain", chain);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, steps(&journal)).await;
    faulty.hiccup(DIRECT_ANSWER, 1);
    assert_eq!(node.run("chain", "Chain", "1").await, "1");
    assert_each_completed_once(&node.history("chain").await, 1);
    assert_eq!(journal.unread(), ["1"]);
    node.stop().await;
}

/// The store refuses the direct turn because an event was stored first. The code has already run;
/// it runs again in the stored order.
#[tokio::test]
async fn an_event_that_is_stored_first_is_applied_first() {
    let (faulty, store) = faulty_memory().await;
    faulty.hold_direct_turns();
    let registry = orchestrations().register("SignalOrWork", signal_or_work);
    let work = activities()
        .register("Held", |_: ActivityContext, _: String| async { Ok("done".to_owned()) });
    let node = Node::on(&store, DEFAULT_MODE.options(), registry, work).await;
    node.start_instance("race", "SignalOrWork", "").await;
    // The activity has completed and won the race, but its turn is not committed yet.
    eventually(|| faulty.calls("commit_direct_turn") == 1).await;
    node.client.raise_event("race", "Signal", "first").await.unwrap();
    faulty.let_direct_turns_go();
    assert_eq!(node.output("race").await, "received first");
    // The turn of the event may be committed before the store refuses the held one.
    eventually(|| faulty.calls(DIRECT_REFUSED) == 1).await;
    assert_eq!(faulty.calls(DIRECT_TAKEN), 0);
    let history = node.history("race").await;
    assert!(has(&history, "ExternalEvent"), "{:?}", kinds(&history));
    assert_eq!(count(&history, "OrchestrationCompleted"), 1);
    node.stop().await;
}

/// A node that stops does not lease the next activity to itself: it is in the queue, and another
/// node claims it at once, although the clock does not move.
#[tokio::test]
async fn a_stopping_node_leases_nothing_to_itself() {
    let (store, _clock) = memory_with_clock().await;
    let (journal, go) = (Journal::default(), Arc::new(Notify::new()));
    let held = |journal: &Journal| {
        let (journal, go) = (journal.clone(), go.clone());
        activities().register("Step", move |_: ActivityContext, input: String| {
            let (journal, go) = (journal.clone(), go.clone());
            async move {
                journal.write(input.clone());
                go.notified().await;
                Ok(input)
            }
        })
    };
    let registry = || orchestrations().register("Chain", chain);
    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), held(&journal)).await;
    node.start_instance("chain", "Chain", "3").await;
    assert_eq!(journal.next().await, "1");
    let mut stopping = Box::pin(node.runtime.clone().shutdown(Some(60_000)));
    tokio::select! {
        biased;
        () = &mut stopping => panic!("an activity is still running"),
        () = tokio::task::yield_now() => {}
    }
    go.notify_one();
    tokio::time::timeout(Duration::from_secs(20), stopping).await.expect("the node stops");
    assert!(journal.unread().is_empty(), "nothing started after the stop");
    assert_eq!(completed(&node.history("chain").await).len(), 1, "the result was stored");

    let node = Node::on(&store, DEFAULT_MODE.options(), registry(), held(&journal)).await;
    for step in ["2", "3"] {
        assert_eq!(journal.next().await, step);
        go.notify_one();
    }
    assert_eq!(node.output("chain").await, "1 2 3");
    assert_each_completed_once(&node.history("chain").await, 3);
    node.stop().await;
}
