//! Attempts count what the work itself did: nodes that are killed while it runs prove nothing.

use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide::{ActivityContext, OrchestrationContext, RuntimeOptions};
use tokio::sync::Semaphore;

use crate::crashing_node::CrashingNode;
use crate::faulty::Faulty;
use crate::support::*;

/// Kills and deployments of healthy nodes used to add up: ten of them poisoned every activity that
/// ran longer than the time between two.
#[tokio::test]
async fn an_activity_whose_nodes_are_killed_is_not_poison() {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions { max_attempts: 2, ..DEFAULT_MODE.options() };
    let go = Arc::new(Semaphore::new(0));
    let long = || {
        orchestrations().register("Long", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Long", "").await
        })
    };
    let work = || {
        let go = Arc::clone(&go);
        activities().register("Long", move |ctx: ActivityContext, _: String| {
            let go = Arc::clone(&go);
            async move {
                go.acquire().await.unwrap().forget();
                Ok(format!("attempt {}", ctx.attempt()))
            }
        })
    };
    let client = duroxide::Client::new(Arc::clone(&store));
    client.start_orchestration("long", "Long", "").await.unwrap();
    for killed in 1..=6 {
        let node = CrashingNode::on(&store, options.clone(), long(), work()).await;
        // Above two attempts, each fetch reads how many leases were vouched for.
        let reads = u32::max(killed, 2) - 2;
        eventually(|| faulty.calls("vouch_for_work_item") == killed + reads).await;
        node.crash().await;
        clock.advance(options.worker_lock_timeout * 2);
    }
    go.add_permits(1);
    let node = Node::on(&store, options, long(), work()).await;
    assert_eq!(node.output("long").await, "attempt 7");
    node.stop().await;
}

/// Kills and deployments used to add up for turns as well: a node that was killed between the fetch
/// and the commit of a turn left an attempt behind, and a dozen kills poisoned healthy instances.
#[tokio::test]
async fn instances_whose_nodes_are_killed_in_mid_turn_are_not_poison() {
    const INSTANCES: u32 = 50;
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions {
        max_attempts: 2,
        orchestration_concurrency: INSTANCES as usize,
        ..DEFAULT_MODE.options()
    };
    let quick = || {
        orchestrations()
            .register("Quick", |_: OrchestrationContext, name: String| async move { Ok(name) })
    };
    let client = duroxide::Client::new(Arc::clone(&store));
    for number in 0..INSTANCES {
        let name = format!("quick-{number}");
        client.start_orchestration(&name, "Quick", name.as_str()).await.unwrap();
    }
    faulty.hold_commits();
    for killed in 1..=15 {
        let node = CrashingNode::on(&store, options.clone(), quick(), activities()).await;
        eventually(|| faulty.calls("commit_turn") == killed * INSTANCES).await;
        node.crash().await;
        clock.advance(options.orchestrator_lock_timeout * 2);
    }
    faulty.let_commits_go();
    let node = Node::on(&store, options, quick(), activities()).await;
    for number in 0..INSTANCES {
        let name = format!("quick-{number}");
        assert_eq!(node.output(&name).await, name);
    }
    node.stop().await;
}

/// Trouble while a turn is marked fails nothing: the turn is released and fetched again.
#[tokio::test]
async fn a_turn_that_cannot_be_marked_waits() {
    let (store, clock) = memory_with_clock().await;
    let faulty = Faulty::new(store);
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions { max_attempts: 2, ..DEFAULT_MODE.options() };
    let quick = || {
        orchestrations()
            .register("Quick", |_: OrchestrationContext, name: String| async move { Ok(name) })
    };
    let client = duroxide::Client::new(Arc::clone(&store));
    client.start_orchestration("quick", "Quick", "done").await.unwrap();
    faulty.hold_commits();
    let node = CrashingNode::on(&store, options.clone(), quick(), activities()).await;
    eventually(|| faulty.calls("commit_turn") == 1).await;
    node.crash().await;
    clock.advance(options.orchestrator_lock_timeout * 2);
    faulty.let_commits_go();
    faulty.hiccup("mark_turn_running", 3);
    let node = Node::on(&store, options, quick(), activities()).await;
    assert_eq!(node.output("quick").await, "done");
    node.stop().await;
}
