//! The messages of a turn, classified.

use tracing::warn;

use super::instance_state::{Ended, InstanceState};
use crate::model::WorkItem;
use crate::runtime::start_facts::ParentCall;

/// The messages of one turn, classified.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Batch {
    /// The message that starts an execution in this turn.
    pub(super) start: Option<WorkItem>,
    /// Everything else, in order; messages carried by the start come first.
    pub(super) inbox: Vec<WorkItem>,
    /// Parents whose child start found an existing instance.
    pub(super) collisions: Vec<ParentCall>,
}

impl Batch {
    /// Classifies the messages of `instance`.
    pub(super) fn classify(instance: &str, messages: Vec<WorkItem>, state: &InstanceState) -> Self {
        let mut batch = Self::default();
        // An existing instance can only be continued, and a continuation wins over any start.
        let exists = state.facts.is_some();
        let continues =
            messages.iter().any(|message| matches!(message, WorkItem::ContinueAsNew { .. }));
        let mut own_parent = state.facts.as_ref().and_then(|facts| facts.parent.clone());
        for message in messages {
            let starts = match &message {
                WorkItem::ContinueAsNew { .. } => batch.start.is_none(),
                WorkItem::StartOrchestration { .. } => {
                    batch.start.is_none() && !exists && !continues
                }
                WorkItem::ActivityExecute { .. }
                | WorkItem::ActivityCompleted { .. }
                | WorkItem::ActivityFailed { .. }
                | WorkItem::TimerFired { .. }
                | WorkItem::ExternalRaised { .. }
                | WorkItem::SubOrchCompleted { .. }
                | WorkItem::SubOrchFailed { .. }
                | WorkItem::CancelInstance { .. }
                | WorkItem::QueueMessage { .. } => {
                    batch.inbox.push(message);
                    continue;
                }
            };
            if starts {
                own_parent = own_parent.or_else(|| parent_of(&message));
                batch.start = Some(message);
            } else {
                batch.refuse(instance, &message, own_parent.as_ref(), state);
            }
        }
        batch.unpack_carried();
        batch
    }

    /// A second start changes nothing. A parent that waits for it is notified of the collision.
    fn refuse(
        &mut self,
        instance: &str,
        message: &WorkItem,
        own_parent: Option<&ParentCall>,
        state: &InstanceState,
    ) {
        warn!(
            target: "duroxide::runtime",
            instance_id = instance,
            "ignored a start for an existing instance"
        );
        let Some(caller) = parent_of(message) else { return };
        let finished = state.ended == Some(Ended::Finished);
        let is_redelivered = own_parent.is_some_and(|own| {
            own.instance == caller.instance
                && own.id == caller.id
                && own.execution_id.is_some()
                && own.execution_id == caller.execution_id
        });
        if finished || !is_redelivered {
            self.collisions.push(caller);
        }
    }

    fn unpack_carried(&mut self) {
        let Some(WorkItem::ContinueAsNew { instance, carry_forward_events, .. }) = &self.start
        else {
            return;
        };
        let carried = carry_forward_events.iter().map(|(name, data)| WorkItem::QueueMessage {
            instance: instance.clone(),
            name: name.clone(),
            data: data.clone(),
        });
        self.inbox = carried.chain(std::mem::take(&mut self.inbox)).collect();
    }
}

/// The parent that waits for a start.
pub(super) fn parent_of(message: &WorkItem) -> Option<ParentCall> {
    match message {
        WorkItem::StartOrchestration {
            parent_instance, parent_id, parent_execution_id, ..
        }
        | WorkItem::ContinueAsNew { parent_instance, parent_id, parent_execution_id, .. } => {
            ParentCall::of(parent_instance.as_ref(), *parent_id, *parent_execution_id)
        }
        WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::TimerFired { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::SubOrchCompleted { .. }
        | WorkItem::SubOrchFailed { .. }
        | WorkItem::CancelInstance { .. }
        | WorkItem::QueueMessage { .. } => None,
    }
}
