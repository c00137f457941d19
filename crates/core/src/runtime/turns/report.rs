//! Counts and logs the result of a turn.

use std::time::Duration;

use tracing::{debug, error, warn};

use crate::engine::{AnsweredCall, Execution, Turn, TurnResult};
use crate::model::{ErrorDetails, Event, WorkItem};
use crate::observability::{MetricsProvider, TRACE_TARGET};
use crate::runtime::node::Node;
use crate::runtime::start_facts::{ParentCall, StartFacts};

/// Which node ran a turn of which instance.
pub(crate) struct ReportContext<'a> {
    pub(crate) node: &'a Node,
    pub(crate) instance: &'a str,
    pub(crate) worker_id: &'a str,
}

/// What metrics and logs say about a turn.
pub(crate) struct TurnSummary {
    name: String,
    version: String,
    execution_id: u64,
    /// What started the execution, if this turn is its first.
    initiated_by: Option<&'static str>,
    /// Calls of children that ended with this turn.
    calls: Vec<AnsweredCall>,
    result: TurnResult,
    started_at_ms: u64,
    duration_ms: u64,
    /// Of an execution that has ended.
    parent: Option<ParentCall>,
    turns: u64,
    history_events: u64,
}

impl TurnSummary {
    /// Of a turn in which the code ran.
    pub(crate) fn of(
        execution: &Execution,
        facts: &StartFacts,
        decided: &Turn,
        now_ms: u64,
    ) -> Self {
        Self {
            turns: execution.turns(),
            history_events: execution.last_event_id(),
            ..Self::without_code(execution.execution_id(), facts, decided, now_ms)
        }
    }

    /// Of a turn that the dispatcher decided itself.
    pub(crate) fn without_code(
        execution_id: u64,
        facts: &StartFacts,
        decided: &Turn,
        now_ms: u64,
    ) -> Self {
        let end = (decided.result.clone(), now_ms);
        Self {
            calls: decided.answered_calls.clone(),
            ..Self::of_events(execution_id, facts, &decided.events, end)
        }
    }

    /// Of a turn with these events.
    pub(crate) fn of_events(
        execution_id: u64,
        facts: &StartFacts,
        events: &[Event],
        (result, now_ms): (TurnResult, u64),
    ) -> Self {
        let started = events.first().is_some_and(Event::is_start);
        let initiated_by = match (started, execution_id, &facts.parent) {
            (false, _, _) => None,
            (true, 2.., _) => Some("continueAsNew"),
            (true, _, Some(_)) => Some("subOrchestration"),
            (true, _, None) => Some("client"),
        };
        let parent = facts.parent.as_ref().filter(|_| result.is_terminal());
        Self {
            name: facts.name.clone(),
            version: facts.version.clone(),
            execution_id,
            initiated_by,
            calls: Vec::new(),
            result,
            started_at_ms: facts.started_at_ms,
            duration_ms: now_ms.saturating_sub(facts.started_at_ms),
            parent: parent.cloned(),
            turns: 1,
            history_events: events.last().map_or(0, |event| event.event_id),
        }
    }

    /// Distinguishes detached starts, which history does not, by the message that started the
    /// execution.
    pub(crate) fn started_by(mut self, start: Option<&WorkItem>) -> Self {
        let is_detached = start.is_some_and(WorkItem::is_detached_start);
        if is_detached && self.initiated_by == Some("client") {
            self.initiated_by = Some("detached");
        }
        self
    }

    pub(crate) fn is_terminal(&self) -> bool {
        self.result.is_terminal()
    }
}

/// Counts and logs a turn. Call it once, after the commit is durable.
pub(crate) fn report(context: &ReportContext<'_>, summary: &TurnSummary) {
    let metrics = context.node.metrics();
    if let Some(initiated_by) = summary.initiated_by {
        metrics.record_orchestration_start(&summary.name, &summary.version, initiated_by);
        if initiated_by != "continueAsNew" {
            metrics.increment_active_orchestrations();
        }
        debug!(
            target: "duroxide::runtime",
            instance_id = %context.instance,
            execution_id = summary.execution_id,
            orchestration_name = %summary.name,
            orchestration_version = %summary.version,
            worker_id = %context.worker_id,
            initiated_by,
            "orchestration started"
        );
    }
    record_calls(metrics, summary);
    match &summary.result {
        TurnResult::Continue => {}
        TurnResult::Completed(output) => {
            finished(context, summary, "success");
            debug!(
                target: "duroxide::runtime",
                instance_id = %context.instance,
                execution_id = summary.execution_id,
                orchestration_name = %summary.name,
                orchestration_version = %summary.version,
                worker_id = %context.worker_id,
                history_events = summary.history_events,
                result_size = output.len(),
                "orchestration completed"
            );
        }
        TurnResult::Failed(details) => failed(context, summary, details),
        TurnResult::Cancelled { reason } => {
            failed(context, summary, &ErrorDetails::cancelled(reason));
        }
        TurnResult::ContinueAsNew { .. } => {
            metrics.record_continue_as_new(&summary.name, summary.execution_id);
            completion(context, summary, "continuedAsNew");
        }
    }
}

/// The parent records the calls of children: it knows both names, and how long it waited.
fn record_calls(metrics: &MetricsProvider, summary: &TurnSummary) {
    for call in &summary.calls {
        let outcome = if call.is_success { "success" } else { "failed" };
        let seconds = call.duration.as_secs_f64();
        metrics.record_suborchestration_call(&summary.name, &call.child, outcome);
        metrics.record_suborchestration_duration(&summary.name, &call.child, seconds, outcome);
    }
}

fn finished(context: &ReportContext<'_>, summary: &TurnSummary, status: &str) {
    completion(context, summary, status);
    context.node.metrics().decrement_active_orchestrations();
}

fn completion(context: &ReportContext<'_>, summary: &TurnSummary, status: &str) {
    context.node.metrics().record_orchestration_completion(
        &summary.name,
        &summary.version,
        status,
        Duration::from_millis(summary.duration_ms).as_secs_f64(),
        summary.turns,
        summary.history_events,
    );
    // After the commit and never in a replay: a collector of traces sees each execution once.
    debug!(
        name: "execution",
        target: TRACE_TARGET,
        instance_id = %context.instance,
        execution_id = summary.execution_id,
        orchestration_name = %summary.name,
        orchestration_version = %summary.version,
        parent_instance = summary.parent.as_ref().map(|parent| parent.instance.as_str()),
        parent_execution_id = summary.parent.as_ref().and_then(|parent| parent.execution_id),
        status,
        started_at_ms = summary.started_at_ms,
        duration_ms = summary.duration_ms,
        "execution ended"
    );
}

fn failed(context: &ReportContext<'_>, summary: &TurnSummary, details: &ErrorDetails) {
    finished(context, summary, "failed");
    let error_type = match details {
        ErrorDetails::Application { .. } => "app_error",
        ErrorDetails::Infrastructure { .. } => "infrastructure_error",
        ErrorDetails::Configuration { .. } => "config_error",
        ErrorDetails::Poison { .. } => "unknown",
    };
    context.node.metrics().record_orchestration_failure(
        &summary.name,
        &summary.version,
        error_type,
        details.category(),
    );
    if matches!(details, ErrorDetails::Poison { .. }) {
        context.node.metrics().record_orchestration_poison();
    }
    let message = details.display_message();
    macro_rules! log_failure {
        ($level:ident) => {
            $level!(
                target: "duroxide::runtime",
                instance_id = %context.instance,
                execution_id = summary.execution_id,
                orchestration_name = %summary.name,
                orchestration_version = %summary.version,
                worker_id = %context.worker_id,
                history_events = summary.history_events,
                error_type,
                error = %message,
                "orchestration failed"
            )
        };
    }
    match details {
        ErrorDetails::Application { .. } => log_failure!(warn),
        ErrorDetails::Infrastructure { .. }
        | ErrorDetails::Configuration { .. }
        | ErrorDetails::Poison { .. } => log_failure!(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::seen::Seen;

    fn summary(calls: Vec<AnsweredCall>) -> TurnSummary {
        TurnSummary {
            name: "Order".to_owned(),
            version: "1.0.0".to_owned(),
            execution_id: 1,
            initiated_by: None,
            calls,
            result: TurnResult::Continue,
            started_at_ms: 0,
            duration_ms: 0,
            parent: None,
            turns: 1,
            history_events: 0,
        }
    }

    #[test]
    fn calls_of_children_are_counted_with_both_names_and_their_outcome() {
        let call = |is_success, seconds| AnsweredCall {
            child: "Pay".to_owned(),
            duration: Duration::from_secs(seconds),
            is_success,
        };
        let (metrics, seen) = (MetricsProvider::default(), Seen::default());
        metrics::with_local_recorder(&seen, || {
            record_calls(&metrics, &summary(vec![call(true, 2), call(false, 5), call(true, 3)]));
        });
        let names = "parent_orchestration=Order,child_orchestration=Pay";
        for (outcome, calls, seconds) in [("success", 2.0, 5.0), ("failed", 1.0, 5.0)] {
            let labels = format!("{{{names},outcome={outcome}}}");
            let counted = seen.value(&format!("duroxide_suborchestration_calls_total{labels}"));
            assert_eq!(counted, calls, "{outcome}");
            let took = seen.value(&format!("duroxide_suborchestration_duration_seconds{labels}"));
            assert_eq!(took, seconds, "{outcome}");
        }
        assert_eq!(metrics.snapshot().suborchestration_calls, 3);
    }
}
