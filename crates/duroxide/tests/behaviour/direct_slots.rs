//! Slots that go on from step to step leave room for others.

use std::sync::Arc;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::limits::STEPS_IN_A_ROW_MAX;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::Semaphore;

use crate::support::{
    Diary, Mode, Node, USUAL, activities, count, memory, memory_with_clock, orchestrations,
};

/// One slot for activities; nothing else is scarce.
fn one_slot() -> RuntimeOptions {
    RuntimeOptions { worker_concurrency: 1, ..USUAL.options() }
}

async fn chain(ctx: OrchestrationContext, steps: String) -> Result<String, String> {
    let steps: u32 = steps.parse().map_err(|error| format!("{error}"))?;
    for step in 1..=steps {
        ctx.schedule_activity("Step", step.to_string()).await?;
    }
    Ok(steps.to_string())
}

/// Steps in a session, each followed by one without.
async fn sessions_between(ctx: OrchestrationContext, rounds: String) -> Result<String, String> {
    let rounds: u32 = rounds.parse().map_err(|error| format!("{error}"))?;
    for round in 1..=rounds {
        ctx.schedule_activity_on_session("Step", round.to_string(), "s").await?;
        ctx.schedule_activity("Step", round.to_string()).await?;
    }
    Ok(rounds.to_string())
}

/// Notes whose step is run.
fn steps(diary: &Diary) -> ActivityRegistryBuilder {
    let diary = diary.clone();
    activities().register("Step", move |ctx: ActivityContext, input: String| {
        diary.write(ctx.instance_id());
        async move { Ok(input) }
    })
}

/// Notes whose step is run, and waits for a permit.
fn gated_steps(diary: &Diary, permits: &Arc<Semaphore>) -> ActivityRegistryBuilder {
    let (diary, permits) = (diary.clone(), Arc::clone(permits));
    activities().register("Step", move |ctx: ActivityContext, input: String| {
        let (diary, permits) = (diary.clone(), Arc::clone(&permits));
        async move {
            diary.write(ctx.instance_id());
            permits.acquire().await.unwrap().forget();
            Ok(input)
        }
    })
}

/// The longest row of steps of one instance while another has steps to come.
fn longest_row(entries: &[String]) -> usize {
    let last = entries.last().cloned().unwrap_or_default();
    let end = entries.iter().rposition(|entry| *entry != last).map_or(0, |end| end + 1);
    entries[..end].chunk_by(|one, other| one == other).map(<[String]>::len).max().unwrap_or(0)
}

/// With a row of steps goes the one that was fetched.
const ROW_MAX: usize = STEPS_IN_A_ROW_MAX as usize + 1;

/// Both chains are warm, and either could keep the only slot for itself.
async fn two_chains_share_one_slot(mode: Mode) {
    let diary = Diary::default();
    let registry = orchestrations().register("Chain", chain);
    let options = RuntimeOptions { worker_concurrency: 1, ..mode.options() };
    let node = Node::on(&memory().await, options, registry, steps(&diary)).await;
    node.begin("a", "Chain", "150").await;
    node.begin("b", "Chain", "150").await;
    assert_eq!(node.output("a").await, "150");
    assert_eq!(node.output("b").await, "150");
    let entries = diary.unread();
    assert_eq!(entries.len(), 300, "each step once");
    // The first to begin may be ahead until the other is in the queue.
    let both = entries.iter().position(|entry| *entry != entries[0]).unwrap();
    let row = longest_row(&entries[both..]);
    assert!(row <= ROW_MAX, "{row} steps in a row while the other chain waits");
    node.stop().await;
}

#[tokio::test]
async fn two_chains_share_one_slot_on_one_thread() {
    two_chains_share_one_slot(Mode { warm: true, concurrency: 4 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_chains_share_one_slot_on_many_threads() {
    two_chains_share_one_slot(Mode { warm: true, concurrency: 4 }).await;
}

#[tokio::test]
async fn two_chains_share_one_slot_without_the_cache() {
    two_chains_share_one_slot(Mode { warm: false, concurrency: 4 }).await;
}

/// What another instance has put into the queue is served after a bounded number of steps.
#[tokio::test]
async fn a_chain_lets_the_queue_be_served() {
    let diary = Diary::default();
    let permits = Arc::new(Semaphore::new(0));
    let registry = orchestrations().register("Chain", chain);
    let work = gated_steps(&diary, &permits);
    let node = Node::on(&memory().await, one_slot(), registry, work).await;
    node.begin("long", "Chain", "100").await;
    for _ in 0..10 {
        assert_eq!(diary.next().await, "long");
        permits.add_permits(1);
    }
    assert_eq!(diary.next().await, "long");
    node.begin("short", "Chain", "1").await;
    node.until_kind("short", "ActivityScheduled").await;
    permits.add_permits(Semaphore::MAX_PERMITS / 2);
    assert_eq!(node.output("short").await, "1");
    assert_eq!(node.output("long").await, "100");
    let entries = diary.unread();
    let served = entries.iter().position(|entry| entry == "short").unwrap();
    assert!(served <= ROW_MAX, "served after {served} steps");
    node.stop().await;
}

/// A session waits for the slot that owns it, also if that slot has a chain to go on with.
#[tokio::test]
async fn a_session_is_served_beside_a_chain_on_one_slot() {
    let diary = Diary::default();
    let registry = orchestrations().register("Chain", chain).register("Between", sessions_between);
    let node = Node::on(&memory().await, one_slot(), registry, steps(&diary)).await;
    node.begin("chain", "Chain", "200").await;
    node.begin("session", "Between", "40").await;
    assert_eq!(node.output("session").await, "40");
    assert_eq!(node.output("chain").await, "200");
    let entries = diary.unread();
    assert_eq!(entries.len(), 280, "each step once");
    let both = entries.iter().position(|entry| *entry != entries[0]).unwrap();
    let row = longest_row(&entries[both..]);
    assert!(row <= ROW_MAX, "{row} steps in a row while the other instance waits");
    node.stop().await;
}

async fn twice_in_a_session(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_activity_on_session("Step", "", "s").await?;
    ctx.schedule_wait("Go").await;
    ctx.schedule_activity_on_session("Step", "", "s").await
}

// A slot that owned a session without running it at the moment went on with a chain for ever, as
// long as another slot was free; but the other one could not serve the session.
#[tokio::test]
async fn a_slot_that_owns_a_session_does_not_go_on_for_ever() {
    let (store, _clock) = memory_with_clock().await;
    let (diary, permits) = (Diary::default(), Arc::new(Semaphore::new(0)));
    let registry = orchestrations().register("Chain", chain).register("Twice", twice_in_a_session);
    let options = RuntimeOptions { worker_concurrency: 2, ..USUAL.options() };
    let node = Node::on(&store, options, registry, gated_steps(&diary, &permits)).await;
    node.begin("session", "Twice", "").await;
    assert_eq!(diary.next().await, "session");
    permits.add_permits(1);
    node.until_kind("session", "ExternalSubscribed").await;
    // Both slots are free, so the chain begins in the first: the one that owns the session.
    node.begin("chain", "Chain", "200").await;
    assert_eq!(diary.next().await, "chain");
    node.client.raise_event("session", "Go", "").await.unwrap();
    node.until("session", |history| count(history, "ActivityScheduled") == 2).await;
    permits.add_permits(Semaphore::MAX_PERMITS / 2);
    node.output("session").await;
    assert_eq!(node.output("chain").await, "200");
    let entries = diary.unread();
    let served = entries.iter().position(|entry| entry == "session").unwrap();
    // The chain goes on in the other slot while the session is fetched.
    assert!(served <= ROW_MAX * 4, "served after {served} steps");
    node.stop().await;
}

// Two stories, seen while the clock stands still. The end of an activity of a session could lead to
// a turn whose first activity was leased to this node and then forgotten: it ran when its lease had
// run out. And a fetch that had begun while the slot of the session ran something else was not told
// when that slot became free: the session waited for the end of the fetch.
#[tokio::test]
async fn what_follows_an_activity_of_a_session_is_run_at_once() {
    for concurrency in [1, 2, 4] {
        let (store, _clock) = memory_with_clock().await;
        let diary = Diary::default();
        let registry = orchestrations().register("Between", sessions_between);
        let mode = Mode { warm: true, concurrency };
        let node = Node::on(&store, mode.options(), registry, steps(&diary)).await;
        assert_eq!(node.run("session", "Between", "5").await, "5");
        assert_eq!(diary.unread().len(), 10, "each step once");
        node.stop().await;
    }
}
