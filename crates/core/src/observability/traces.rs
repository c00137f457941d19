//! What a collector of traces can rely on.

/// The target of what collectors of traces need, all at the level DEBUG. Replays emit none of it.
///
/// - The span `activity` surrounds each run of a handler, with the fields `instance_id`,
///   `execution_id`, `orchestration_name`, `activity_id`, `activity_name`, `attempt`, `worker_id`,
///   and at its end `outcome`: `success`, `app_error`, `panic` or `cancelled`.
/// - The event `execution` follows the commit that ends an execution, with the fields
///   `instance_id`, `execution_id`, `orchestration_name`, `orchestration_version`,
///   `parent_instance` and `parent_execution_id` (of a child), `status` (`success`, `failed` or
///   `continuedAsNew`), `started_at_ms` and `duration_ms`.
pub const TRACE_TARGET: &str = "duroxide::trace";
