//! Shared by the floors of all stores: batch sizes, texts and the sample.

use bench_harness::{Case, Sample};

/// Workflows that share a transaction in `small-50`, which has this many at a time.
pub(super) const AT_ONCE: usize = 50;
/// Completions of a fan-out that share a transaction: as many as a node fetches at once.
pub(super) const COMPLETIONS: usize = 1024;
/// Steps of a workflow in `small-50`.
pub(super) const STEPS: u32 = 5;

/// Time in all rows.
pub(super) const NOW_MS: i64 = 1_700_000_000_000;
/// A start in the queue.
pub(super) const MESSAGE: &str = "{\"StartOrchestration\":{\"instance\":\"template\",\
    \"orchestration\":\"chain\",\"input\":\"5 0\",\"version\":null,\"parent_instance\":null,\
    \"parent_id\":null,\"execution_id\":1}}";
/// An activity in the queue.
pub(super) const WORK: &str = "{\"ActivityExecute\":{\"instance\":\"template\",\
    \"execution_id\":1,\"id\":2,\"name\":\"add_one\",\"input\":\"0\"}}";

/// Ids of the workflows in `small-50`.
pub(super) fn ids(count: u64) -> Vec<String> {
    (0..count).map(|number| format!("w-{number}")).collect()
}

/// Id of the workflow in a workload of one.
pub(super) fn single() -> [String; 1] {
    ["single".to_owned()]
}

/// The sample of a case.
pub(super) fn sample(floor: &str, durability: &str, case: Case, seconds: f64) -> Sample {
    Sample {
        engine: floor.to_owned(),
        durability: durability.to_owned(),
        workload: case.workload.name().to_owned(),
        size: case.size,
        unit: case.workload.unit().to_owned(),
        count: case.size,
        seconds,
        ..Sample::default()
    }
}
