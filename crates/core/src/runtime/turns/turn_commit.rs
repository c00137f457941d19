//! The commit of a turn, as the store receives it.

use std::time::Duration;

use tracing::warn;

use crate::engine::{Turn, TurnResult};
use crate::model::{ErrorDetails, ExecutionStatus, WorkItem};
use crate::providers::{
    ExecutionMetadata, ProviderCapability, ScheduledActivity, ScheduledActivityIdentifier,
    TurnCommit,
};
use crate::runtime::node::Node;
use crate::runtime::start_facts::StartFacts;

/// What a turn changes. A fetched turn adds its lock token, a direct turn its history mark.
pub(crate) fn turn_commit(
    instance: &str,
    facts: &StartFacts,
    execution_id: u64,
    decided: Turn,
) -> TurnCommit {
    TurnCommit::new(String::new(), execution_id)
        .with_metadata(metadata(facts, &decided))
        .with_cancelled_activities(identify(instance, execution_id, &decided))
        .with_history_delta(decided.events)
        .with_activities(scheduled(decided.worker_items, &decided.start_limits))
        .with_messages(instance, decided.orchestrator_items)
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

/// Activities with the limits that the engine lists for some of them. Both lists are in the order
/// of event ids, so that one pass over both is enough.
fn scheduled(
    items: Vec<WorkItem>,
    limits: &[(u64, Duration)],
) -> impl Iterator<Item = ScheduledActivity> {
    let mut limits = limits.iter().peekable();
    items.into_iter().map(move |item| {
        let limit = if let WorkItem::ActivityExecute { id, .. } = &item {
            while limits.next_if(|(limited, _)| limited < id).is_some() {}
            limits.next_if(|(limited, _)| limited == id)
        } else {
            None
        };
        let activity = ScheduledActivity::new(item);
        match limit {
            Some((_, limit)) => activity.with_start_limit(*limit),
            None => activity,
        }
    })
}

/// Warns that the store ignores schedule-to-start limits, if the commit has any.
pub(crate) fn warn_of_ignored_limits(node: &Node, instance: &str, commit: &TurnCommit) {
    let has_limits = commit.activities.iter().any(|activity| activity.start_limit.is_some());
    if has_limits && !node.provider.capabilities().has(ProviderCapability::StartLimits) {
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
