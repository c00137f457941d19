//! The parent that waits for an instance, and the messages that it receives.

use super::instance_state::Ended;
use super::process::LeasedTurn;
use crate::engine::Parent;
use crate::model::{
    ErrorDetails, EventKind, INITIAL_EXECUTION_ID, WorkItem, build_child_instance_id,
};
use crate::runtime::node::Node;
use crate::runtime::start_facts::{ParentCall, StartFacts};
use crate::runtime::storage_retry::retry_for_ever;

/// The waiting call with its execution. Data written before 0.1.30 does not say which execution
/// waits; then it is the parent's latest.
pub(super) async fn resolve(node: &Node, call: ParentCall) -> Parent {
    let execution_id = match call.execution_id {
        Some(execution_id) => execution_id,
        None => latest_execution(node, &call.instance).await,
    };
    Parent { instance: call.instance, execution_id, id: call.id }
}

async fn latest_execution(node: &Node, instance: &str) -> u64 {
    let start = || node.provider.read_start_event(instance);
    match retry_for_ever("read_start_event", start).await {
        Ok(Some(start)) => start.execution_id,
        Ok(None) => INITIAL_EXECUTION_ID,
        Err(error) => {
            tracing::warn!(
                target: "duroxide::runtime",
                instance_id = instance, %error,
                "could not read the execution of a waiting parent; assuming its first one"
            );
            INITIAL_EXECUTION_ID
        }
    }
}

/// The message that notifies a parent of a failure.
pub(super) fn failure_notice(parent: Parent, details: ErrorDetails) -> WorkItem {
    WorkItem::SubOrchFailed {
        parent_instance: parent.instance,
        parent_execution_id: parent.execution_id,
        parent_id: parent.id,
        details,
    }
}

/// The messages for all parents whose child start found an existing instance.
pub(super) async fn collision_notices(turn: &LeasedTurn<'_>) -> Vec<WorkItem> {
    let id = &turn.item.instance;
    let text = match turn.state.ended {
        Some(Ended::Finished) => {
            format!("sub-orchestration instance id '{id}' already exists and is terminal")
        }
        Some(Ended::ContinuedAsNew) | None => {
            format!("sub-orchestration instance id '{id}' already exists")
        }
    };
    let mut notices = Vec::new();
    for call in turn.batch.collisions.clone() {
        let parent = resolve(turn.node, call).await;
        notices.push(failure_notice(parent, ErrorDetails::orchestration_failed(text.as_str())));
    }
    notices
}

/// Finds the parent of an instance whose history cannot be read: by its start event if that one
/// can, else by the parent's own history.
pub(super) async fn find_for_unreadable(node: &Node, instance: &str) -> Option<Parent> {
    let start = || node.provider.read_start_event(instance);
    if let Ok(Some(start)) = retry_for_ever("read_start_event", start).await {
        let call = StartFacts::of(&start)?.parent?;
        return Some(resolve(node, call).await);
    }
    let admin = node.provider.as_management_capability()?;
    let parent = retry_for_ever("get_parent_id", || admin.get_parent_id(instance)).await;
    let parent = parent.ok().flatten()?;
    let history = retry_for_ever("read", || node.provider.read(&parent)).await.ok()?;
    history.into_iter().rev().find_map(|event| {
        let EventKind::SubOrchestrationScheduled { instance: child, .. } = &event.kind else {
            return None;
        };
        (build_child_instance_id(&parent, child) == instance).then(|| Parent {
            instance: parent.clone(),
            execution_id: event.execution_id,
            id: event.event_id,
        })
    })
}
