//! Counts and logs what a turn came to.

use tracing::{debug, error, warn};

use crate::engine::{Execution, Turn, TurnResult};
use crate::model::{ErrorDetails, Event};
use crate::runtime::node::Node;
use crate::runtime::start_facts::StartFacts;

/// Who took a turn of which instance.
pub(super) struct Taken<'a> {
    pub(super) node: &'a Node,
    pub(super) instance: &'a str,
    pub(super) worker_id: &'a str,
}

/// What is worth saying about a turn.
pub(super) struct Summary {
    name: String,
    version: String,
    execution_id: u64,
    /// Why the execution began, if it began in this turn.
    initiated_by: Option<&'static str>,
    result: TurnResult,
    duration_seconds: f64,
    turns: u64,
    history_events: u64,
}

impl Summary {
    /// Of a turn that the code took.
    pub(super) fn of(
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
    pub(super) fn without_code(
        execution_id: u64,
        facts: &StartFacts,
        decided: &Turn,
        now_ms: u64,
    ) -> Self {
        let began = decided.events.first().is_some_and(Event::is_start);
        let initiated_by = match (began, execution_id, &facts.parent) {
            (false, _, _) => None,
            (true, 2.., _) => Some("continueAsNew"),
            (true, _, Some(_)) => Some("subOrchestration"),
            (true, _, None) => Some("client"),
        };
        let millis = now_ms.saturating_sub(facts.started_at_ms);
        Self {
            name: facts.name.clone(),
            version: facts.version.clone(),
            execution_id,
            initiated_by,
            result: decided.result.clone(),
            duration_seconds: std::time::Duration::from_millis(millis).as_secs_f64(),
            turns: 1,
            history_events: decided.events.last().map_or(0, |event| event.event_id),
        }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.result.is_terminal()
    }
}

/// Counts each thing once, after it is durable.
pub(super) fn report(taken: &Taken<'_>, summary: &Summary) {
    let metrics = taken.node.metrics();
    if let Some(initiated_by) = summary.initiated_by {
        metrics.record_orchestration_start(&summary.name, &summary.version, initiated_by);
        if initiated_by != "continueAsNew" {
            metrics.increment_active_orchestrations();
        }
        debug!(
            target: "duroxide::runtime",
            instance_id = %taken.instance,
            execution_id = summary.execution_id,
            orchestration_name = %summary.name,
            orchestration_version = %summary.version,
            worker_id = %taken.worker_id,
            initiated_by,
            "orchestration started"
        );
    }
    match &summary.result {
        TurnResult::Continue => {}
        TurnResult::Completed(output) => {
            ended(taken, summary, "success");
            debug!(
                target: "duroxide::runtime",
                instance_id = %taken.instance,
                execution_id = summary.execution_id,
                orchestration_name = %summary.name,
                orchestration_version = %summary.version,
                worker_id = %taken.worker_id,
                history_events = summary.history_events,
                result_size = output.len(),
                "orchestration completed"
            );
        }
        TurnResult::Failed(details) => failed(taken, summary, details),
        TurnResult::Cancelled { reason } => {
            failed(taken, summary, &ErrorDetails::cancelled(reason));
        }
        TurnResult::ContinueAsNew { .. } => {
            metrics.record_continue_as_new(&summary.name, summary.execution_id);
            completion(taken, summary, "continuedAsNew");
        }
    }
}

fn ended(taken: &Taken<'_>, summary: &Summary, status: &str) {
    completion(taken, summary, status);
    taken.node.metrics().decrement_active_orchestrations();
}

fn completion(taken: &Taken<'_>, summary: &Summary, status: &str) {
    taken.node.metrics().record_orchestration_completion(
        &summary.name,
        &summary.version,
        status,
        summary.duration_seconds,
        summary.turns,
        summary.history_events,
    );
}

fn failed(taken: &Taken<'_>, summary: &Summary, details: &ErrorDetails) {
    ended(taken, summary, "failed");
    let error_type = match details {
        ErrorDetails::Application { .. } => "app_error",
        ErrorDetails::Infrastructure { .. } => "infrastructure_error",
        ErrorDetails::Configuration { .. } => "config_error",
        ErrorDetails::Poison { .. } => "unknown",
    };
    taken.node.metrics().record_orchestration_failure(
        &summary.name,
        &summary.version,
        error_type,
        details.category(),
    );
    let message = details.display_message();
    macro_rules! say {
        ($level:ident) => {
            $level!(
                target: "duroxide::runtime",
                instance_id = %taken.instance,
                execution_id = summary.execution_id,
                orchestration_name = %summary.name,
                orchestration_version = %summary.version,
                worker_id = %taken.worker_id,
                history_events = summary.history_events,
                error_type,
                error = %message,
                "orchestration failed"
            )
        };
    }
    match details {
        ErrorDetails::Application { .. } => say!(warn),
        ErrorDetails::Infrastructure { .. }
        | ErrorDetails::Configuration { .. }
        | ErrorDetails::Poison { .. } => say!(error),
    }
}
