//! Large payloads through activities and children.

use std::error::Error;
use std::time::Duration;

use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry};
use duroxide_core::{ActivityContext, OrchestrationContext};
use serde::{Deserialize, Serialize};

use super::parallel_orchestrations::ProviderStressFactory;
use super::pump::{Load, pump};
use super::{StressTestConfig, StressTestResult};

const PARENT: &str = "LargePayloadOrchestration";
const CHILD: &str = "LargePayloadChild";
const FILL: &str = "FillPayload";
const BYTES_PER_KB: usize = 1024;

/// One load with large payloads.
#[derive(Debug, Clone)]
pub struct LargePayloadConfig {
    /// Concurrency and duration.
    pub base: StressTestConfig,
    /// Size of a third of the activity results.
    pub small_payload_kb: usize,
    /// Size of another third, and of the input of children.
    pub medium_payload_kb: usize,
    /// Size of the last third.
    pub large_payload_kb: usize,
    /// Activities of each instance.
    pub activity_count: usize,
    /// Children of each instance.
    pub sub_orch_count: usize,
}

impl Default for LargePayloadConfig {
    fn default() -> Self {
        Self {
            base: StressTestConfig {
                max_concurrent: 5,
                duration_secs: 10,
                tasks_per_instance: 1,
                activity_delay_ms: 5,
                orch_concurrency: 1,
                worker_concurrency: 1,
                wait_timeout_secs: 120,
            },
            small_payload_kb: 10,
            medium_payload_kb: 50,
            large_payload_kb: 100,
            activity_count: 20,
            sub_orch_count: 5,
        }
    }
}

/// The payload sizes of one instance, in bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Plan {
    activity_bytes: Vec<usize>,
    child_bytes: Vec<usize>,
}

impl Plan {
    fn of(config: &LargePayloadConfig) -> Self {
        let sizes = [config.small_payload_kb, config.medium_payload_kb, config.large_payload_kb];
        let sizes = sizes.map(|kb| kb * BYTES_PER_KB);
        let activity_bytes = sizes.into_iter().cycle().take(config.activity_count).collect();
        let child_bytes = vec![config.medium_payload_kb * BYTES_PER_KB; config.sub_orch_count];
        Self { activity_bytes, child_bytes }
    }
}

/// Runs the default load.
pub async fn run_large_payload_test(
    factory: &dyn ProviderStressFactory,
) -> Result<StressTestResult, Box<dyn Error>> {
    run_large_payload_test_with_config(factory, LargePayloadConfig::default()).await
}

/// Runs the given load. An instance fails if a payload comes back changed.
pub async fn run_large_payload_test_with_config(
    factory: &dyn ProviderStressFactory,
    config: LargePayloadConfig,
) -> Result<StressTestResult, Box<dyn Error>> {
    let provider = factory.create_provider().await;
    let load = Load {
        orchestration: PARENT,
        input: serde_json::to_string(&Plan::of(&config))?,
        activities_each: config.activity_count + config.sub_orch_count,
    };
    let activities = activities(config.base.activity_delay_ms);
    pump(&config.base, provider, activities, orchestrations(), load).await
}

fn activities(delay_ms: u64) -> ActivityRegistry {
    let fill = move |_ctx: ActivityContext, bytes: usize| async move {
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        Ok("x".repeat(bytes))
    };
    ActivityRegistry::builder().register_typed(FILL, fill).build()
}

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register_typed(PARENT, |ctx: OrchestrationContext, plan: Plan| async move {
            let fills = plan
                .activity_bytes
                .iter()
                .map(|bytes| ctx.schedule_activity_typed::<usize, String>(FILL, bytes));
            let filled = ctx.join(fills.collect()).await;
            let mut total = checked(filled, &plan.activity_bytes)?;
            let children = plan
                .child_bytes
                .iter()
                .map(|bytes| ctx.schedule_sub_orchestration(CHILD, "y".repeat(*bytes)));
            let echoed = ctx.join(children.collect()).await;
            total += checked(echoed, &plan.child_bytes)?;
            Ok(total)
        })
        .register(CHILD, |ctx: OrchestrationContext, payload: String| async move {
            let bytes = payload.len();
            let filled: String = ctx.schedule_activity_typed(FILL, &bytes).await?;
            Ok(filled)
        })
        .build()
}

/// The total size, if every payload has the requested size.
fn checked(payloads: Vec<Result<String, String>>, expected: &[usize]) -> Result<usize, String> {
    let mut total = 0;
    for (payload, bytes) in payloads.into_iter().zip(expected) {
        let found = payload?.len();
        if found != *bytes {
            return Err(format!("a payload of {bytes} bytes came back with {found}"));
        }
        total += found;
    }
    Ok(total)
}
