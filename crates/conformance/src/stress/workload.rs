//! The default load: an orchestration that fans out and joins.

use std::time::Duration;

use duroxide_core::runtime::{ActivityRegistry, OrchestrationRegistry};
use duroxide_core::{ActivityContext, OrchestrationContext};
use serde::{Deserialize, Serialize};

/// Name of the default orchestration.
pub(super) const FANOUT: &str = "FanoutOrchestration";

const TASK: &str = "ProcessTask";

#[derive(Debug, Serialize, Deserialize)]
struct FanoutInput {
    task_count: usize,
}

/// Input of the default orchestration.
pub(super) fn fanout_input(task_count: usize) -> String {
    format!("{{\"task_count\": {task_count}}}")
}

/// The activity `ProcessTask`, which takes `delay_ms`.
pub fn create_default_activities(delay_ms: u64) -> ActivityRegistry {
    let process = move |_ctx: ActivityContext, task: String| async move {
        if delay_ms > 0 {
            tokio::time::sleep(Duration::from_millis(delay_ms)).await;
        }
        Ok(format!("done: {task}"))
    };
    ActivityRegistry::builder().register(TASK, process).build()
}

/// The orchestration `FanoutOrchestration`, which runs `task_count` activities at once.
pub fn create_default_orchestrations() -> OrchestrationRegistry {
    let fan_out = |ctx: OrchestrationContext, input: FanoutInput| async move {
        let tasks: Vec<_> = (0..input.task_count)
            .map(|task| ctx.schedule_activity(TASK, format!("task-{task}")))
            .collect();
        let results = ctx.join(tasks).await.into_iter().collect::<Result<Vec<String>, String>>()?;
        Ok(results.len())
    };
    OrchestrationRegistry::builder().register_typed(FANOUT, fan_out).build()
}
