//! Starts instances for a given time with bounded concurrency and waits for all of them.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::Provider;
use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry, Runtime, RuntimeOptions};
use duroxide_core::{Client, OrchestrationStatus};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::result::{RunOutcome, Tally};
use super::workload::{FANOUT, fanout_input};
use super::{StressTestConfig, StressTestResult};

/// How long started instances may still run after the last start.
const DRAIN: Duration = Duration::from_secs(120);

/// The kind of instance that the load starts repeatedly.
#[derive(Debug, Clone)]
pub(super) struct Load {
    pub(super) orchestration: &'static str,
    pub(super) input: String,
    /// Activities of each instance, for the rate.
    pub(super) activities_each: usize,
}

/// Runs `FanoutOrchestration` with a real runtime on the store and measures it.
///
/// The registries must hold that orchestration and what it calls; see
/// [`create_default_orchestrations`](super::create_default_orchestrations).
pub async fn run_stress_test(
    config: StressTestConfig,
    provider: Arc<dyn Provider>,
    activities: ActivityRegistry,
    orchestrations: OrchestrationRegistry,
) -> Result<StressTestResult, Box<dyn Error>> {
    let load = Load {
        orchestration: FANOUT,
        input: fanout_input(config.tasks_per_instance),
        activities_each: config.tasks_per_instance,
    };
    pump(&config, provider, activities, orchestrations, load).await
}

pub(super) async fn pump(
    config: &StressTestConfig,
    provider: Arc<dyn Provider>,
    activities: ActivityRegistry,
    orchestrations: OrchestrationRegistry,
    load: Load,
) -> Result<StressTestResult, Box<dyn Error>> {
    let options = RuntimeOptions {
        orchestration_concurrency: config.orch_concurrency,
        worker_concurrency: config.worker_concurrency,
        ..RuntimeOptions::default()
    };
    let store = Arc::clone(&provider);
    let runtime = Runtime::start_with_options(store, activities, orchestrations, options).await;
    let started_at = Instant::now();
    let tally = start_and_wait(config, &Client::new(provider), &load).await;
    let total_time = started_at.elapsed();
    runtime.shutdown(None).await;
    Ok(tally?.result(total_time, load.activities_each))
}

async fn start_and_wait(
    config: &StressTestConfig,
    client: &Client,
    load: &Load,
) -> Result<Tally, Box<dyn Error>> {
    let places = Arc::new(Semaphore::new(config.max_concurrent));
    let limit = Duration::from_secs(config.wait_timeout_secs);
    let stop = Instant::now() + Duration::from_secs(config.duration_secs);
    let mut tally = Tally::default();
    let mut running = JoinSet::new();
    while Instant::now() < stop {
        let free = timeout_at(stop, Arc::clone(&places).acquire_owned()).await;
        let Ok(place) = free else { break };
        let place = place?;
        let instance = format!("stress-test-{}", tally.launched);
        tally.launched += 1;
        let (client, load) = (client.clone(), load.clone());
        running.spawn(async move {
            let outcome = run_one(&client, &instance, &load, limit).await;
            drop(place);
            outcome
        });
        while let Some(outcome) = running.try_join_next() {
            tally.count(&outcome?);
        }
    }
    let drained = Instant::now() + DRAIN;
    while !running.is_empty() {
        match timeout_at(drained, running.join_next()).await {
            Ok(Some(outcome)) => tally.count(&outcome?),
            Ok(None) => break,
            Err(_too_late) => {
                (0..running.len()).for_each(|_| tally.count(&RunOutcome::Lost));
                break;
            }
        }
    }
    Ok(tally)
}

async fn run_one(client: &Client, instance: &str, load: &Load, limit: Duration) -> RunOutcome {
    let started_at = Instant::now();
    let started =
        client.start_orchestration(instance, load.orchestration, load.input.as_str()).await;
    if started.is_err() {
        return RunOutcome::Lost;
    }
    match client.wait_for_orchestration(instance, limit).await {
        Ok(OrchestrationStatus::Completed { .. }) => RunOutcome::Completed(started_at.elapsed()),
        Ok(OrchestrationStatus::Failed { details, .. }) => RunOutcome::Failed(details),
        Ok(OrchestrationStatus::Running { .. } | OrchestrationStatus::NotFound) | Err(_) => {
            RunOutcome::Lost
        }
    }
}
