//! Turns that go from the end of an activity to the commit without being fetched.

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
    Diary, Mode, Node, USUAL, activities, count, has, in_every_mode, kinds, memory,
    memory_with_clock, orchestrations, until,
};

/// One step after the other.
async fn chain(ctx: OrchestrationContext, steps: String) -> Result<String, String> {
    let steps: u32 = steps.parse().map_err(|error| format!("{error}"))?;
    let mut done = Vec::new();
    for step in 1..=steps {
        done.push(ctx.schedule_activity("Step", step.to_string()).await?);
    }
    Ok(done.join(" "))
}

/// All at once.
async fn fan(ctx: OrchestrationContext, width: String) -> Result<String, String> {
    let width: u32 = width.parse().map_err(|error| format!("{error}"))?;
    let calls = (1..=width).map(|call| ctx.schedule_activity("Step", call.to_string()));
    let results: Result<Vec<String>, String> =
        ctx.join(calls.collect()).await.into_iter().collect();
    let sum: u32 = results?.iter().map(|result| result.parse::<u32>().unwrap()).sum();
    Ok(sum.to_string())
}

/// Whichever comes first, and then the other.
async fn news_or_work(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    let work = ctx.schedule_activity("Held", "");
    match ctx.select2(ctx.schedule_wait("News"), work).await {
        Either2::First(news) => Ok(format!("heard {news}")),
        Either2::Second(done) => Ok(format!("worked {done:?}")),
    }
}

/// Notes each step that is run.
fn steps(diary: &Diary) -> ActivityRegistryBuilder {
    let diary = diary.clone();
    activities().register("Step", move |_: ActivityContext, input: String| {
        diary.write(input.clone());
        async move { Ok(input) }
    })
}

async fn faulty_memory() -> (Arc<Faulty>, Arc<dyn Provider>) {
    let faulty = Faulty::new(memory().await);
    (faulty.clone(), faulty)
}

/// Which activities a history has results of, in order.
fn answered(history: &[Event]) -> Vec<u64> {
    let ended = history.iter().filter(|event| {
        matches!(event.kind, EventKind::ActivityCompleted { .. } | EventKind::ActivityFailed { .. })
    });
    ended.filter_map(|event| event.source_event_id).collect()
}

#[track_caller]
fn assert_each_once(history: &[Event], activities: usize) {
    let mut answered = answered(history);
    answered.sort_unstable();
    let all = answered.len();
    answered.dedup();
    assert_eq!((all, answered.len()), (activities, activities), "{:?}", kinds(history));
    assert_eq!(count(history, "ActivityScheduled"), activities);
}

/// Each result goes one of two ways: straight to its turn, or through the queue.
#[track_caller]
fn assert_each_one_way(faulty: &Faulty, mode: Mode, steps: u32) {
    let (direct, queued) = (faulty.calls(DIRECT_TAKEN), faulty.calls("ack_work_item"));
    assert_eq!(direct + queued, steps, "{direct} direct, {queued} through the queue");
    // The first ones may end before the answer to the commit that scheduled them is here.
    assert_eq!(direct > 0, mode.warm, "{direct} direct, {queued} through the queue");
}

async fn a_chain_goes_without_fetches(mode: Mode) {
    let (faulty, store) = faulty_memory().await;
    let diary = Diary::default();
    let registry = orchestrations().register("Chain", chain);
    let node = Node::on(&store, mode.options(), registry, steps(&diary)).await;
    node.run("chain", "Chain", "50").await;
    assert_eq!(diary.unread(), numbers(50), "each step once, in order");
    assert_each_once(&node.history("chain").await, 50);
    let counts = node.stop_and_count().await;
    assert_each_one_way(&faulty, mode, 50);
    let fetched = faulty.calls("commit_turn");
    assert_eq!(fetched, 1 + faulty.calls("ack_work_item"), "the start, and what was queued");
    assert_eq!((counts.orch_starts, counts.orch_completions, counts.orch_failures), (1, 1, 0));
    assert_eq!(counts.activity_success, 50);
}

fn numbers(last: u32) -> Vec<String> {
    (1..=last).map(|number| number.to_string()).collect()
}

/// What is stored does not depend on how turns were taken.
async fn histories_are_alike_with_and_without_direct_turns(mode: Mode) {
    let mut stored = Vec::new();
    for direct in [true, false] {
        let (faulty, store) = faulty_memory().await;
        if !direct {
            faulty.fetched_turns_only();
        }
        let registry = orchestrations().register("Chain", chain);
        let node = Node::on(&store, mode.options(), registry, steps(&Diary::default())).await;
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

async fn every_result_of_a_wide_fan_is_heard_once(mode: Mode) {
    // Without the cache every turn replays all that came before.
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
    node.begin("fan", "Fan", &width.to_string()).await;
    // The first turn is held until all others have ended, so that they have to wait for it.
    until(|| ran.load(Ordering::SeqCst) == width).await;
    faulty.let_direct_turns_go();
    assert_eq!(node.output("fan").await, (width * (width + 1) / 2).to_string());
    assert_each_once(&node.history("fan").await, width);
    assert_eq!(ran.load(Ordering::SeqCst), width, "each ran once");
    if mode.warm {
        let turns = faulty.calls(DIRECT_TAKEN) + faulty.calls("commit_turn");
        assert!(turns < 100, "{turns} turns: those that wait are taken together");
    }
    node.stop().await;
}

/// However the commit fails before it was done, the result goes through the queue.
async fn a_failed_direct_turn_goes_through_the_queue(mode: Mode) {
    for error in [
        ProviderError::retryable("commit_direct_turn", "busy"),
        ProviderError::permanent("commit_direct_turn", "refused"),
    ] {
        let (faulty, store) = faulty_memory().await;
        let diary = Diary::default();
        let registry = orchestrations().register("Chain", chain);
        let node = Node::on(&store, mode.options(), registry, steps(&diary)).await;
        faulty.fail("commit_direct_turn", 1, error);
        node.run("chain", "Chain", "50").await;
        assert_eq!(diary.unread(), numbers(50), "nothing ran twice");
        assert_each_once(&node.history("chain").await, 50);
        let counts = node.stop_and_count().await;
        assert_each_one_way(&faulty, mode, 50);
        assert!(!mode.warm || faulty.calls("ack_work_item") > 0, "the queue had one of them");
        assert_eq!((counts.orch_completions, counts.orch_failures), (1, 0));
        assert_eq!((counts.activity_success, counts.activity_infra_errors), (50, 0));
    }
}

in_every_mode! {
    a_chain_goes_without_fetches,
    histories_are_alike_with_and_without_direct_turns,
    every_result_of_a_wide_fan_is_heard_once,
    a_failed_direct_turn_goes_through_the_queue,
}

/// The turn was stored, but its node does not know: nothing happens twice, and the activity that
/// the turn has handed over is run when its lease has run out.
async fn a_lost_answer_makes_nothing_twice_on(concurrency: usize) {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let diary = Diary::default();
    let registry = orchestrations().register("Chain", chain);
    let mode = Mode { warm: true, concurrency };
    let node = Node::on(&store, mode.options(), registry, steps(&diary)).await;
    faulty.hiccup(DIRECT_ANSWER, 1);
    node.begin("chain", "Chain", "50").await;
    // More if the next activity did not find a slot and went through the queue.
    until(|| faulty.calls(DIRECT_ANSWER) >= 1).await;
    let lost = answered(&node.history("chain").await).len();
    assert!(lost > 0, "the turn was stored");
    // With one slot the turn may have been led by somebody without one: then the next activity is
    // in the queue, and everything goes on by itself.
    if faulty.calls(LEASES_LOST) > 0 {
        // The result is offered to the queue, which wants it no more; then nobody has anything in
        // hand.
        until(|| faulty.calls("renew_work_item_lock") > 0).await;
        clock.advance(mode.options().worker_lock_timeout);
    }
    assert_eq!(node.output("chain").await, numbers(50).join(" "));
    assert_eq!(diary.unread(), numbers(50), "each step once");
    assert_each_once(&node.history("chain").await, 50);
    node.stop().await;
}

#[tokio::test]
async fn a_lost_answer_makes_nothing_twice() {
    a_lost_answer_makes_nothing_twice_on(4).await;
}

#[tokio::test]
async fn a_lost_answer_makes_nothing_twice_with_one_slot() {
    a_lost_answer_makes_nothing_twice_on(1).await;
}

/// The last answer is lost: the instance has ended all the same.
#[tokio::test]
async fn an_instance_ends_although_the_last_answer_is_lost() {
    let (faulty, store) = faulty_memory().await;
    let diary = Diary::default();
    let registry = orchestrations().register("Chain", chain);
    let node = Node::on(&store, USUAL.options(), registry, steps(&diary)).await;
    faulty.hiccup(DIRECT_ANSWER, 1);
    assert_eq!(node.run("chain", "Chain", "1").await, "1");
    assert_each_once(&node.history("chain").await, 1);
    assert_eq!(diary.unread(), ["1"]);
    node.stop().await;
}

/// The code has run already when the store says that somebody was first; it runs again in the
/// order in which things were stored.
#[tokio::test]
async fn an_event_that_is_stored_first_is_heard_first() {
    let (faulty, store) = faulty_memory().await;
    faulty.hold_direct_turns();
    let registry = orchestrations().register("NewsOrWork", news_or_work);
    let work = activities()
        .register("Held", |_: ActivityContext, _: String| async { Ok("done".to_owned()) });
    let node = Node::on(&store, USUAL.options(), registry, work).await;
    node.begin("race", "NewsOrWork", "").await;
    // The activity has ended and won the race, but its turn is not stored yet.
    until(|| faulty.calls("commit_direct_turn") == 1).await;
    node.client.raise_event("race", "News", "first").await.unwrap();
    faulty.let_direct_turns_go();
    assert_eq!(node.output("race").await, "heard first");
    // The turn of the event may have been fetched and committed before the other one was let go.
    assert_eq!((faulty.calls(DIRECT_TAKEN), faulty.calls(DIRECT_REFUSED)), (0, 1));
    let history = node.history("race").await;
    assert!(has(&history, "ExternalEvent"), "{:?}", kinds(&history));
    assert_eq!(count(&history, "OrchestrationCompleted"), 1);
    node.stop().await;
}

/// What a node was about to hand over to itself when it was stopped waits in the queue: another
/// node finds it at once, for the clock stands still.
#[tokio::test]
async fn a_node_that_stops_hands_nothing_over() {
    let (store, _clock) = memory_with_clock().await;
    let (diary, go) = (Diary::default(), Arc::new(Notify::new()));
    let held = |diary: &Diary| {
        let (diary, go) = (diary.clone(), go.clone());
        activities().register("Step", move |_: ActivityContext, input: String| {
            let (diary, go) = (diary.clone(), go.clone());
            async move {
                diary.write(input.clone());
                go.notified().await;
                Ok(input)
            }
        })
    };
    let registry = || orchestrations().register("Chain", chain);
    let node = Node::on(&store, USUAL.options(), registry(), held(&diary)).await;
    node.begin("chain", "Chain", "3").await;
    assert_eq!(diary.next().await, "1");
    let mut stopping = Box::pin(node.runtime.clone().shutdown(Some(60_000)));
    tokio::select! {
        biased;
        () = &mut stopping => panic!("an activity is in hand"),
        () = tokio::task::yield_now() => {}
    }
    go.notify_one();
    tokio::time::timeout(Duration::from_secs(20), stopping).await.expect("it must stop");
    assert!(diary.unread().is_empty(), "nothing began after the stop");
    assert_eq!(answered(&node.history("chain").await).len(), 1, "the result was stored");

    let node = Node::on(&store, USUAL.options(), registry(), held(&diary)).await;
    for step in ["2", "3"] {
        assert_eq!(diary.next().await, step);
        go.notify_one();
    }
    assert_eq!(node.output("chain").await, "1 2 3");
    assert_each_once(&node.history("chain").await, 3);
    node.stop().await;
}
