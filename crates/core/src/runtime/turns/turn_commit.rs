//! The commit of a turn, as the store receives it.

use tracing::warn;

use crate::engine::{Turn, TurnResult};
use crate::model::{ErrorDetails, ExecutionStatus};
use crate::providers::{ExecutionMetadata, ScheduledActivityIdentifier, StartLimit, TurnCommit};
use crate::runtime::node::Node;
use crate::runtime::start_facts::StartFacts;

/// What a turn changes. A fetched turn adds its lock token, a direct turn its history mark.
pub(crate) fn turn_commit(
    instance: &str,
    facts: &StartFacts,
    execution_id: u64,
    decided: Turn,
) -> TurnCommit {
    TurnCommit {
        lock_token: String::new(),
        execution_id,
        metadata: metadata(facts, &decided),
        cancelled_activities: identify(instance, execution_id, &decided),
        start_limits: start_limits(&decided),
        history_delta: decided.events,
        worker_items: decided.worker_items,
        orchestrator_items: decided.orchestrator_items,
        lease_work: None,
    }
}

fn identify(instance: &str, execution_id: u64, decided: &Turn) -> Vec<ScheduledActivityIdentifier> {
    decided
        .cancelled_activities
        .iter()
        .map(|id| ScheduledActivityIdentifier {
            instance: instance.to_owned(),
            execution_id,
            activity_id: *id,
        })
        .collect()
}

fn start_limits(decided: &Turn) -> Vec<StartLimit> {
    let limits = decided.start_limits.iter();
    limits.map(|&(activity_id, limit)| StartLimit { activity_id, limit }).collect()
}

/// Warns that the store ignores schedule-to-start limits, if the commit has any.
pub(crate) fn warn_of_ignored_limits(node: &Node, instance: &str, commit: &TurnCommit) {
    if !commit.start_limits.is_empty() && !node.provider.keeps_start_limits() {
        warn!(
            target: "duroxide::runtime",
            instance_id = instance,
            "the store keeps no schedule-to-start limits; the activities wait without one"
        );
    }
}

fn metadata(facts: &StartFacts, decided: &Turn) -> ExecutionMetadata {
    let (status, output) = match &decided.result {
        TurnResult::Continue => (None, None),
        TurnResult::Completed(output) => (Some(ExecutionStatus::Completed), Some(output.clone())),
        TurnResult::Failed(details) => {
            (Some(ExecutionStatus::Failed), Some(details.display_message()))
        }
        TurnResult::Cancelled { reason } => {
            (Some(ExecutionStatus::Failed), Some(ErrorDetails::cancelled(reason).display_message()))
        }
        TurnResult::ContinueAsNew { input } => {
            (Some(ExecutionStatus::ContinuedAsNew), Some(input.clone()))
        }
    };
    // The commit of the start event states the pin; each execution has its own.
    let pinned = decided
        .events
        .iter()
        .find(|event| event.is_start())
        .and_then(|start| semver::Version::parse(&start.duroxide_version).ok());
    ExecutionMetadata {
        status: status.map(|status| status.as_str().to_owned()),
        output,
        orchestration_name: Some(facts.name.clone()),
        orchestration_version: Some(facts.version.clone()),
        parent_instance_id: facts.parent.as_ref().map(|parent| parent.instance.clone()),
        pinned_duroxide_version: pinned,
    }
}
