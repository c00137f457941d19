//! Reports of instances that this node ended without their code.

use std::sync::Arc;

use super::fast_path::FastPath;
use super::start_facts::StartFacts;
use super::turns::{ReportContext, TurnSummary, report};
use crate::client::{EndCause, EndedInstance};
use crate::engine::TurnResult;
use crate::providers::NeededCode;

/// Counts and logs the end of an instance, as that of a turn, and cancels those of its activities
/// that run on this node. `code` is what the instance would have needed.
pub(crate) fn report_end(
    fast_path: &Arc<FastPath>,
    code: &NeededCode,
    ended: &EndedInstance,
    cause: &EndCause,
) {
    fast_path.cancel(&ended.activities);
    let facts = ended.start.as_ref().and_then(StartFacts::of).unwrap_or_else(|| StartFacts {
        name: code.name.clone(),
        version: code.version.clone().unwrap_or_default(),
        parent: None,
        pin: String::new(),
        started_at_ms: ended.now_ms,
    });
    let result = match cause {
        EndCause::Terminated(reason) | EndCause::Cancelled(reason) => {
            TurnResult::Cancelled { reason: reason.clone() }
        }
        EndCause::Stranded(details) => TurnResult::Failed(details.clone()),
    };
    let end = (result, ended.now_ms);
    let summary = TurnSummary::of_events(ended.execution_id, &facts, &ended.events, end);
    let turns = fast_path.turns();
    let worker_id = turns.orchestrator_id(0);
    let (node, instance) = (&turns.node, ended.instance.as_str());
    report(&ReportContext { node, instance, worker_id: &worker_id }, &summary);
}
