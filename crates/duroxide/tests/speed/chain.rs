//! The cost of a step does not depend on the length of the history.

use std::time::{Duration, Instant};

use crate::test_node::{TestNode, exclusive, median};

const SHORT: u32 = 100;
const LONG: u32 = 5_000;
const FACTOR_MAX: f64 = 1.5;

/// Rounds of the comparison, because the machine may be busy in one of them.
const ROUNDS: usize = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_of_a_long_chain_costs_the_same_as_a_step_of_a_short_one() {
    let _exclusive = exclusive().await;
    let node = TestNode::in_memory().await;
    node.run("warm-up", "Chain", "200").await;
    let mut factors = Vec::new();
    for round in 0..ROUNDS {
        // The same number of steps on both sides, the short chains around the long one.
        let before = short_chains(&node, &format!("{round}-before")).await;
        let long = per_step(&node, &format!("{round}-long"), LONG).await;
        let after = short_chains(&node, &format!("{round}-after")).await;
        let short = median(before.into_iter().chain(after).collect());
        let factor = long.as_secs_f64() / short.as_secs_f64();
        println!("step of a short chain {short:?}, of a long one {long:?}: {factor:.2} times");
        factors.push(factor);
        if factor <= FACTOR_MAX {
            break;
        }
    }
    node.stop().await;
    let best = factors.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(best <= FACTOR_MAX, "a step of a long chain costs {best:.2} times a short one's");
}

async fn short_chains(node: &TestNode, name: &str) -> Vec<Duration> {
    let mut times = Vec::new();
    for number in 0..LONG / SHORT / 2 {
        times.push(per_step(node, &format!("{name}-{number}"), SHORT).await);
    }
    times
}

async fn per_step(node: &TestNode, instance: &str, steps: u32) -> Duration {
    let start = Instant::now();
    node.run(instance, "Chain", &steps.to_string()).await;
    start.elapsed() / steps
}
