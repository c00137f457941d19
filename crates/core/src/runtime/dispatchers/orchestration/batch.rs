//! The messages of a turn, classified.

use tracing::warn;

use super::instance_state::InstanceState;
use crate::model::cancel_reason::CancellingParent;
use crate::model::cancel_request::SentCancelRequest;
use crate::model::stored_attribute::ATTRIBUTES_MESSAGE;
use crate::model::{WorkItem, cancel_reason};
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
        let exists = state.facts.is_some();
        let start_at = start_position(&messages, exists);
        let known_parent = state.facts.as_ref().and_then(|facts| facts.parent.clone());
        let own_parent =
            known_parent.or_else(|| messages.get(start_at?).and_then(ParentCall::of_message));
        let mut batch = Self::default();
        for (position, message) in messages.into_iter().enumerate() {
            // Sent before the instance existed.
            let is_early = !exists && start_at.is_some_and(|start| position < start);
            if let Some(sender) = Cancellation::of(&message) {
                match is_early || !sender.may_cancel_child_of(own_parent.as_ref()) {
                    true => warn_ignored(instance, &message, "it is meant for another instance"),
                    false => batch.inbox.push(message),
                }
                continue;
            }
            match &message {
                WorkItem::ContinueAsNew { .. } | WorkItem::StartOrchestration { .. } => {
                    match start_at == Some(position) {
                        true => batch.start = Some(message),
                        false => batch.refuse(instance, &message, own_parent.as_ref()),
                    }
                }
                // They stand behind the start that brought them.
                WorkItem::QueueMessage { name, .. }
                    if name == ATTRIBUTES_MESSAGE
                        && start_at.is_none_or(|start| position != start + 1) =>
                {
                    warn_ignored(instance, &message, "they belong to a start that is ignored");
                }
                // The code sees them first, whatever was sent before the start.
                WorkItem::QueueMessage { name, .. } if name == ATTRIBUTES_MESSAGE => {
                    batch.inbox.insert(0, message);
                }
                // A new instance takes what is lossless. A signal before its wait has no effect.
                WorkItem::ExternalRaised { .. } | WorkItem::QueueMessage { .. } => {
                    batch.inbox.push(message);
                }
                #[cfg(feature = "replay-version-test")]
                WorkItem::ExternalRaised2 { .. } => batch.inbox.push(message),
                WorkItem::ActivityExecute { .. }
                | WorkItem::CancelInstance { .. }
                | WorkItem::ActivityCompleted { .. }
                | WorkItem::ActivityFailed { .. }
                | WorkItem::TimerFired { .. }
                | WorkItem::SubOrchCompleted { .. }
                | WorkItem::SubOrchFailed { .. } => match is_early {
                    true => warn_ignored(instance, &message, "it is meant for another instance"),
                    false => batch.inbox.push(message),
                },
            }
        }
        batch.unpack_carried();
        batch
    }

    /// A second start changes nothing. A parent that waits for it is notified of the collision. The
    /// own parent is not: it sent the same start twice, and gets or has got the result.
    fn refuse(&mut self, instance: &str, message: &WorkItem, own_parent: Option<&ParentCall>) {
        warn_ignored(instance, message, "the instance exists");
        let Some(caller) = ParentCall::of_message(message) else { return };
        let is_redelivered = own_parent.is_some_and(|own| {
            own.instance == caller.instance
                && own.id == caller.id
                && own.execution_id.is_some()
                && own.execution_id == caller.execution_id
        });
        if !is_redelivered {
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

/// The message that starts an execution. An existing instance can only be continued, and a
/// continuation wins over any start.
fn start_position(messages: &[WorkItem], exists: bool) -> Option<usize> {
    let continuation =
        messages.iter().position(|message| matches!(message, WorkItem::ContinueAsNew { .. }));
    continuation.or_else(|| {
        let is_start = |message: &WorkItem| matches!(message, WorkItem::StartOrchestration { .. });
        messages.iter().position(is_start).filter(|_| !exists)
    })
}

/// A message that asks the instance to end, and the parent that sent it; a client names none.
struct Cancellation(Option<CancellingParent>);

impl Cancellation {
    fn of(message: &WorkItem) -> Option<Self> {
        if let WorkItem::CancelInstance { reason, .. } = message {
            Some(Self(cancel_reason::split(reason).1))
        } else if let WorkItem::ExternalRaised { name, data, .. } = message {
            SentCancelRequest::of_signal(name, data).map(|sent| Self(sent.parent))
        } else {
            None
        }
    }

    /// Whether the sender, if it is a parent, waits for this instance.
    fn may_cancel_child_of(&self, own_parent: Option<&ParentCall>) -> bool {
        let Some(CancellingParent(instance, execution_id, id)) = &self.0 else { return true };
        own_parent.is_some_and(|own| {
            own.instance == *instance
                && own.id == *id
                && own.execution_id.is_none_or(|own| own == *execution_id)
        })
    }
}

fn warn_ignored(instance: &str, message: &WorkItem, why: &str) {
    warn!(
        target: "duroxide::runtime",
        instance_id = instance,
        work_item = message.variant_name(),
        why,
        "ignored a message"
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::instance_state::Ended;
    use super::*;
    use crate::runtime::start_facts::StartFacts;

    fn call(instance: &str) -> ParentCall {
        ParentCall { instance: instance.to_owned(), id: 2, execution_id: Some(1) }
    }

    fn start(parent: Option<ParentCall>) -> WorkItem {
        WorkItem::StartOrchestration {
            instance: "i".to_owned(),
            orchestration: "O".to_owned(),
            input: String::new(),
            version: None,
            parent_instance: parent.as_ref().map(|parent| parent.instance.clone()),
            parent_id: parent.as_ref().map(|parent| parent.id),
            parent_execution_id: parent.and_then(|parent| parent.execution_id),
            execution_id: 1,
        }
    }

    fn cancel(parent: Option<&str>) -> WorkItem {
        let sender = parent.map(|parent| CancellingParent(parent.to_owned(), 1, 2));
        let reason = sender
            .map_or_else(|| "why".to_owned(), |sender| cancel_reason::by_parent("why", &sender));
        WorkItem::CancelInstance { instance: "i".to_owned(), reason }
    }

    fn state(parent: Option<ParentCall>, ended: Option<Ended>) -> InstanceState {
        let facts = StartFacts {
            name: "O".to_owned(),
            version: String::new(),
            parent,
            pin: String::new(),
            started_at_ms: 0,
        };
        InstanceState { facts: Some(Arc::new(facts)), ended }
    }

    /// The parent was notified of a failure although it had or would get the result.
    #[test]
    fn a_redelivered_child_start_is_no_collision_even_if_the_child_has_finished() {
        for ended in [None, Some(Ended::Finished), Some(Ended::ContinuedAsNew)] {
            let state = state(Some(call("p")), ended);
            let batch = Batch::classify("i", vec![start(Some(call("p")))], &state);
            assert_eq!(batch, Batch::default());
            let batch = Batch::classify("i", vec![start(Some(call("other")))], &state);
            assert_eq!(batch.collisions, [call("other")]);
        }
    }

    #[test]
    fn a_cancellation_by_a_parent_counts_only_for_its_own_child() {
        for (own, sender, counts) in [
            (Some("p"), Some("p"), true),
            (Some("p"), Some("q"), false),
            (None, Some("p"), false),
            (Some("p"), None, true),
            (None, None, true),
        ] {
            let expected = Vec::from_iter(counts.then(|| cancel(sender)));
            let running = state(own.map(call), None);
            assert_eq!(Batch::classify("i", vec![cancel(sender)], &running).inbox, expected);
            let both = vec![start(own.map(call)), cancel(sender)];
            let batch = Batch::classify("i", both, &InstanceState::default());
            assert_eq!(batch.inbox, expected, "in the batch of the start");
        }
    }

    #[test]
    fn what_was_sent_before_the_start_does_not_harm_the_new_instance() {
        let instance = "i".to_owned();
        let fired = WorkItem::TimerFired {
            instance: "i".to_owned(),
            execution_id: 1,
            id: 2,
            fire_at_ms: 3,
        };
        let name = "q".to_owned();
        let queued = WorkItem::QueueMessage { instance, name, data: String::new() };
        let early = vec![cancel(None), fired.clone(), queued.clone(), start(None)];
        let batch = Batch::classify("i", early.clone(), &InstanceState::default());
        assert_eq!((batch.start, batch.inbox), (Some(start(None)), vec![queued.clone()]));
        let attributes = WorkItem::QueueMessage {
            instance: "i".to_owned(),
            name: ATTRIBUTES_MESSAGE.to_owned(),
            data: String::new(),
        };
        let with_attributes = early.iter().cloned().chain([attributes.clone()]).collect();
        let batch = Batch::classify("i", with_attributes, &InstanceState::default());
        assert_eq!(batch.inbox, [attributes, queued.clone()], "attributes come first");
        let late = early.into_iter().rev().collect();
        let batch = Batch::classify("i", late, &InstanceState::default());
        assert_eq!(batch.inbox, vec![queued, fired, cancel(None)]);
    }
}
