//! The size and duration of a load.

use serde::{Deserialize, Serialize};

/// The configuration of one load.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StressTestConfig {
    /// Instances that run at the same time.
    pub max_concurrent: usize,
    /// How long the test starts new instances.
    pub duration_secs: u64,
    /// Activities of each instance.
    pub tasks_per_instance: usize,
    /// How long each activity takes.
    pub activity_delay_ms: u64,
    /// Turns that the runtime runs at the same time.
    pub orch_concurrency: usize,
    /// Activities that the runtime runs at the same time.
    pub worker_concurrency: usize,
    /// How long an instance may take before it counts as failed.
    #[serde(default = "wait_timeout_default")]
    pub wait_timeout_secs: u64,
}

const fn wait_timeout_default() -> u64 {
    60
}

impl Default for StressTestConfig {
    fn default() -> Self {
        Self {
            max_concurrent: 20,
            duration_secs: 10,
            tasks_per_instance: 5,
            activity_delay_ms: 10,
            orch_concurrency: 2,
            worker_concurrency: 2,
            wait_timeout_secs: wait_timeout_default(),
        }
    }
}
