//! The span of one run of an activity, for programs that collect traces.

use tracing::{Span, debug_span, field};

use super::run::Outcome;
use crate::observability::TRACE_TARGET;
use crate::runtime::ActivityContext;

/// The span around a handler: log lines and spans of the handler are inside it. Without a
/// subscriber that asks for it, it costs a comparison.
pub(super) fn activity(context: &ActivityContext) -> Span {
    debug_span!(
        target: TRACE_TARGET,
        "activity",
        instance_id = context.instance_id(),
        execution_id = context.execution_id(),
        orchestration_name = context.orchestration_name(),
        activity_id = context.activity_id(),
        activity_name = context.activity_name(),
        attempt = context.attempt(),
        worker_id = context.worker_id(),
        outcome = field::Empty,
    )
}

/// Notes in the span how the handler ended.
pub(super) fn record_outcome(span: &Span, outcome: &Outcome) {
    let word = match outcome {
        Outcome::Returned(Ok(_)) => "success",
        Outcome::Returned(Err(_)) => "app_error",
        Outcome::Panicked(_) => "panic",
        Outcome::Cancelled => "cancelled",
    };
    span.record("outcome", word);
}
