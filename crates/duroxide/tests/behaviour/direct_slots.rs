//! A slot that continues a chain in direct turns still serves other work.

use std::sync::Arc;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::limits::STEPS_IN_A_ROW_MAX;
use duroxide::runtime::registry::ActivityRegistryBuilder;
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::Semaphore;

use crate::support::{
    DEFAULT_MODE, Journal, Mode, Node, activities, count, memory, memory_with_clock, orchestrations,
};

/// One slot for activities.
fn one_slot() -> RuntimeOptions {
    RuntimeOptions { worker_concurrency: 1, ..DEFAULT_MODE.options() }
}

async fn chain(ctx: OrchestrationContext, steps: String) -> Result<String, String> {
    let steps: u32 = steps.parse().map_err(|error| format!("{error}"))?;
    for step in 1..=steps {
        ctx.schedule_activity("Step", step.to_string()).await?;
    }
    Ok(steps.to_string())
}

/// Steps of a session, each followed by a step without one.
async fn sessions_between(ctx: OrchestrationContext, rounds: String) -> Result<String, String> {
    let rounds: u32 = rounds.parse().map_err(|error| format!("{error}"))?;
    for round in 1..=rounds {
        ctx.schedule_activity_on_session("Step", round.to_string(), "s").await?;
        ctx.schedule_activity("Step", round.to_string()).await?;
    }
    Ok(rounds.to_string())
}

/// Records the instance of each step.
fn steps(journal: &Journal) -> ActivityRegistryBuilder {
    let journal = journal.clone();
    activities().register("Step", move |ctx: ActivityContext, input: String| {
        journal.write(ctx.instance_id());
        async move { Ok(input) }
    })
}

/// Records the instance of each step, and waits for a permit.
fn gated_steps(journal: &Journal, permits: &Arc<Semaphore>) -> ActivityRegistryBuilder {
    let (journal, permits) = (journal.clone(), Arc::clone(permits));
    activities().register("Step", move |ctx: ActivityContext, input: String| {
        let (journal, permits) = (journal.clone(), Arc::clone(&permits));
        async move {
            journal.write(ctx.instance_id());
            permits.acquire().await.unwrap().forget();
            Ok(input)
        }
    })
}

/// The longest run of steps of one instance while another instance has steps left.
fn longest_run(entries: &[String]) -> usize {
    let last = entries.last().cloned().unwrap_or_default();
    let end = entries.iter().rposition(|entry| *entry != last).map_or(0, |end| end + 1);
    entries[..end].chunk_by(|one, other| one == other).map(<[String]>::len).max().unwrap_or(0)
}

/// A run includes the step that was fetched.
const RUN_MAX: usize = STEPS_IN_A_ROW_MAX as usize + 1;

/// Both chains are warm, and either could occupy the only slot.
async fn two_chains_share_one_slot(mode: Mode) {
    let journal = Journal::default();
    let registry = orchestrations().register("Chain", chain);
    let options = RuntimeOptions { worker_concurrency: 1, ..mode.options() };
    let node = Node::on(&memory().await, options, registry, steps(&journal)).await;
    node.start_instance("a", "Chain", "150").await;
    node.start_instance("b", "Chain", "150").await;
    assert_eq!(node.output("a").await, "150");
    assert_eq!(node.output("b").await, "150");
    let entries = journal.unread();
    assert_eq!(entries.len(), 300, "each step ran once");
    // The first chain may be ahead until the other one is in the queue.
    let both = entries.iter().position(|entry| *entry != entries[0]).unwrap();
    let run = longest_run(&entries[both..]);
    assert!(run <= RUN_MAX, "{run} steps in a run while the other chain waits");
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

/// An activity in the queue runs after a bounded number of steps of a chain.
#[tokio::test]
async fn a_chain_does_not_starve_the_queue() {
    let journal = Journal::default();
    let permits = Arc::new(Semaphore::new(0));
    let registry = orchestrations().register("Chain", chain);
    let work = gated_steps(&journal, &permits);
    let node = Node::on(&memory().await, one_slot(), registry, work).await;
    node.start_instance("long", "Chain", "100").await;
    for _ in 0..10 {
        assert_eq!(journal.next().await, "long");
        permits.add_permits(1);
    }
    assert_eq!(journal.next().await, "long");
    node.start_instance("short", "Chain", "1").await;
    node.wait_for_event("short", "ActivityScheduled").await;
    permits.add_permits(Semaphore::MAX_PERMITS / 2);
    assert_eq!(node.output("short").await, "1");
    assert_eq!(node.output("long").await, "100");
    let entries = journal.unread();
    let served = entries.iter().position(|entry| entry == "short").unwrap();
    assert!(served <= RUN_MAX, "served after {served} steps");
    node.stop().await;
}

/// A session waits for the slot that owns it, even if that slot runs a chain.
#[tokio::test]
async fn a_session_is_served_beside_a_chain_on_one_slot() {
    let journal = Journal::default();
    let registry = orchestrations().register("Chain", chain).register("Between", sessions_between);
    let node = Node::on(&memory().await, one_slot(), registry, steps(&journal)).await;
    node.start_instance("chain", "Chain", "200").await;
    node.start_instance("session", "Between", "40").await;
    assert_eq!(node.output("session").await, "40");
    assert_eq!(node.output("chain").await, "200");
    let entries = journal.unread();
    assert_eq!(entries.len(), 280, "each step ran once");
    let both = entries.iter().position(|entry| *entry != entries[0]).unwrap();
    let run = longest_run(&entries[both..]);
    assert!(run <= RUN_MAX, "{run} steps in a run while the other instance waits");
    node.stop().await;
}

async fn twice_in_a_session(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.schedule_activity_on_session("Step", "", "s").await?;
    ctx.schedule_wait("Go").await;
    ctx.schedule_activity_on_session("Step", "", "s").await
}

// A slot that owned an idle session used to continue a chain for as long as another slot was free;
// but the other slot could not serve the session.
#[tokio::test]
async fn a_chain_does_not_starve_a_session_of_its_slot() {
    let (store, _clock) = memory_with_clock().await;
    let (journal, permits) = (Journal::default(), Arc::new(Semaphore::new(0)));
    let registry = orchestrations().register("Chain", chain).register("Twice", twice_in_a_session);
    let options = RuntimeOptions { worker_concurrency: 2, ..DEFAULT_MODE.options() };
    let node = Node::on(&store, options, registry, gated_steps(&journal, &permits)).await;
    node.start_instance("session", "Twice", "").await;
    assert_eq!(journal.next().await, "session");
    permits.add_permits(1);
    node.wait_for_event("session", "ExternalSubscribed").await;
    // Both slots are free, so the chain starts in the first one, which owns the session.
    node.start_instance("chain", "Chain", "200").await;
    assert_eq!(journal.next().await, "chain");
    node.client.raise_event("session", "Go", "").await.unwrap();
    node.wait_for_history("session", |history| count(history, "ActivityScheduled") == 2).await;
    permits.add_permits(Semaphore::MAX_PERMITS / 2);
    node.output("session").await;
    assert_eq!(node.output("chain").await, "200");
    let entries = journal.unread();
    let served = entries.iter().position(|entry| entry == "session").unwrap();
    // The chain continues in the other slot while the session is fetched.
    assert!(served <= RUN_MAX * 4, "served after {served} steps");
    node.stop().await;
}

// Two bugs, visible while the clock does not move. The turn after an activity of a session could
// lease an activity to this node, which forgot it: it ran when its lease had expired. And a fetch
// that started while the slot of the session ran another activity was not notified when that slot
// became free: the session waited until the fetch returned.
#[tokio::test]
async fn the_activity_after_one_of_a_session_runs_at_once() {
    for concurrency in [1, 2, 4] {
        let (store, _clock) = memory_with_clock().await;
        let journal = Journal::default();
        let registry = orchestrations().register("Between", sessions_between);
        let mode = Mode { warm: true, concurrency };
        let node = Node::on(&store, mode.options(), registry, steps(&journal)).await;
        assert_eq!(node.run("session", "Between", "5").await, "5");
        assert_eq!(journal.unread().len(), 10, "each step ran once");
        node.stop().await;
    }
}
