//! Values as the columns of a row.

use super::{RowError, encode_announced_turns};
use crate::limits::MAX_ID_BYTES;
use crate::model::{Event, WorkItem};
use crate::providers::{ClientMessage, WorkerAnnouncement};

/// The columns of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedEvent {
    /// Position in the history of its execution, from one.
    pub event_id: u64,
    /// Name of its kind.
    pub event_type: &'static str,
    /// The whole event as JSON.
    pub text: String,
}

impl EncodedEvent {
    /// Encodes an event.
    ///
    /// # Errors
    /// When the runtime did not number the event.
    pub fn encode(event: &Event) -> Result<Self, RowError> {
        if event.event_id == 0 {
            return Err(RowError::UnnumberedEvent);
        }
        Ok(Self {
            event_id: event.event_id,
            event_type: event.kind.type_tag(),
            text: serde_json::to_string(event).map_err(RowError::malformed)?,
        })
    }

    /// Encodes all events.
    ///
    /// # Errors
    /// When one of them cannot be encoded.
    pub fn encode_all(events: &[Event]) -> Result<Vec<Self>, RowError> {
        events.iter().map(Self::encode).collect()
    }
}

/// The columns of a message of the orchestrator queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedMessage<'a> {
    /// The instance that gets it: the parent for the result of a child.
    pub instance: &'a str,
    /// The whole message as JSON.
    pub text: String,
    /// When a timer is due; a commit makes any other message visible at once.
    pub due_ms: Option<u64>,
    /// What a fetch must know of it without decoding it.
    pub kind: MessageKind,
}

/// What a fetch must know of a message without decoding it.
///
/// The list of variants is complete, because a provider stores each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// Starts an execution, so messages that are parked for its instance become fetchable.
    Start,
    /// Belongs to a FIFO queue, so it is dropped if its instance does not exist.
    Queue,
    /// Anything else. It is parked if its instance does not exist.
    Other,
}

impl<'a> EncodedMessage<'a> {
    /// Encodes a message; `None` for an activity, which belongs into the worker queue.
    ///
    /// # Errors
    /// When the message has no stored form, or starts an instance whose id is too long.
    pub fn encode(item: &'a WorkItem) -> Result<Option<Self>, RowError> {
        let (due_ms, kind) = match item {
            WorkItem::ActivityExecute { .. } => return Ok(None),
            WorkItem::TimerFired { fire_at_ms, .. } => (Some(*fire_at_ms), MessageKind::Other),
            WorkItem::StartOrchestration { .. } | WorkItem::ContinueAsNew { .. } => {
                (None, MessageKind::Start)
            }
            WorkItem::QueueMessage { .. } => (None, MessageKind::Queue),
            WorkItem::ActivityCompleted { .. }
            | WorkItem::ActivityFailed { .. }
            | WorkItem::ExternalRaised { .. }
            | WorkItem::SubOrchCompleted { .. }
            | WorkItem::SubOrchFailed { .. }
            | WorkItem::CancelInstance { .. } => (None, MessageKind::Other),
            #[cfg(feature = "replay-version-test")]
            WorkItem::ExternalRaised2 { .. } => (None, MessageKind::Other),
        };
        debug_assert_eq!(kind == MessageKind::Start, item.is_start());
        // Only a new instance: those that an older version started continue.
        if let WorkItem::StartOrchestration { instance, .. } = item
            && instance.len() > MAX_ID_BYTES
        {
            return Err(RowError::IdTooLong(instance.len()));
        }
        let text = serde_json::to_string(item).map_err(RowError::malformed)?;
        Ok(Some(Self { instance: item.target_instance(), text, due_ms, kind }))
    }

    /// Encodes a message of this queue.
    ///
    /// # Errors
    /// When the item is an activity.
    pub fn encode_message(item: &'a WorkItem) -> Result<Self, RowError> {
        Self::encode(item)?.ok_or(RowError::NotAMessage)
    }

    /// Encodes a message of a client, with the attributes of a start.
    ///
    /// # Errors
    /// When the item is an activity.
    pub fn encode_client_message(message: &'a ClientMessage) -> Result<Self, RowError> {
        let mut encoded = Self::encode_message(&message.item)?;
        if encoded.kind == MessageKind::Start && !message.attributes.is_empty() {
            let attributes =
                serde_json::to_string(&message.attributes).map_err(RowError::malformed)?;
            // A further key of the start, which other readers ignore.
            if let Some(start) = encoded.text.strip_suffix("}}") {
                encoded.text = format!("{start},\"{ATTRIBUTES_KEY}\":{attributes}}}}}");
            }
        }
        Ok(encoded)
    }

    /// Encodes the message that completes an activity.
    ///
    /// # Errors
    /// When the item is neither a result nor a failure of an activity.
    pub fn encode_completion(item: &'a WorkItem) -> Result<Self, RowError> {
        if matches!(item, WorkItem::ActivityCompleted { .. } | WorkItem::ActivityFailed { .. }) {
            return Self::encode_message(item);
        }
        Err(RowError::NotACompletion)
    }
}

/// The key of a stored start that holds its attributes.
const ATTRIBUTES_KEY: &str = "attributes";

/// The columns of an activity of the worker queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedActivity<'a> {
    /// The instance that scheduled it.
    pub instance: &'a str,
    /// The execution that scheduled it.
    pub execution_id: u64,
    /// The event that scheduled it.
    pub activity_id: u64,
    /// The session that it must run in.
    pub session_id: Option<&'a str>,
    /// The tag that decides which workers may run it.
    pub tag: Option<&'a str>,
    /// The name of its handler.
    pub name: &'a str,
    /// The whole activity as JSON.
    pub text: String,
}

impl<'a> EncodedActivity<'a> {
    /// Encodes an activity.
    ///
    /// # Errors
    /// When the item is not an activity.
    pub fn encode(item: &'a WorkItem) -> Result<Self, RowError> {
        let WorkItem::ActivityExecute { instance, execution_id, id, name, session_id, tag, .. } =
            item
        else {
            return Err(RowError::NotAnActivity);
        };
        Ok(Self {
            instance,
            execution_id: *execution_id,
            activity_id: *id,
            session_id: session_id.as_deref(),
            tag: tag.as_deref(),
            name,
            text: serde_json::to_string(item).map_err(RowError::malformed)?,
        })
    }
}

/// The columns of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncodedWorker<'a> {
    /// The node.
    pub node_id: &'a str,
    /// Its tag filter as JSON.
    pub tag_filter: String,
    /// The names of its activities as a JSON list, ascending.
    pub activities: String,
    /// The turns that it runs as JSON.
    pub turns: Option<String>,
}

impl<'a> EncodedWorker<'a> {
    /// Encodes an announcement.
    ///
    /// # Errors
    /// When it has no stored form.
    pub fn encode(announcement: &'a WorkerAnnouncement) -> Result<Self, RowError> {
        let mut activities = announcement.activities.clone();
        activities.sort_unstable();
        Ok(Self {
            node_id: &announcement.node_id,
            tag_filter: serde_json::to_string(&announcement.tag_filter)
                .map_err(RowError::malformed)?,
            activities: serde_json::to_string(&activities).map_err(RowError::malformed)?,
            turns: announcement.turns.as_ref().map(encode_announced_turns).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::EventKind;

    #[test]
    fn an_event_without_a_position_is_refused() {
        let event = Event::new("i", 1, None, EventKind::KeyValuesCleared);
        let error = EncodedEvent::encode(&event).unwrap_err().during("ack");
        assert!(!error.is_retryable());
        assert!(error.message.contains("Failed to append history"), "{error}");
    }

    fn activity() -> WorkItem {
        WorkItem::ActivityExecute {
            instance: "i".to_owned(),
            execution_id: 1,
            id: 2,
            name: "Act".to_owned(),
            input: String::new(),
            session_id: None,
            tag: None,
        }
    }

    #[test]
    fn each_queue_refuses_what_belongs_into_the_other() {
        let cancel = WorkItem::CancelInstance { instance: "i".to_owned(), reason: String::new() };
        assert_eq!(EncodedMessage::encode(&activity()).unwrap(), None);
        let refused = EncodedMessage::encode_message(&activity()).unwrap_err();
        assert!(matches!(refused, RowError::NotAMessage), "{refused}");
        let refused = EncodedActivity::encode(&cancel).unwrap_err();
        assert!(matches!(refused, RowError::NotAnActivity), "{refused}");
        let refused = EncodedMessage::encode_completion(&cancel).unwrap_err();
        assert!(matches!(refused, RowError::NotACompletion), "{refused}");
    }

    #[test]
    fn a_timer_is_visible_when_it_is_due() {
        let timer = WorkItem::TimerFired {
            instance: "i".to_owned(),
            execution_id: 1,
            id: 2,
            fire_at_ms: 7,
        };
        assert_eq!(EncodedMessage::encode_message(&timer).unwrap().due_ms, Some(7));
    }
}
