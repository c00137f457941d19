//! Messages that clients send to instances.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::stored_attribute::encode_attributes;
use crate::model::{Attributes, INITIAL_EXECUTION_ID, WorkItem};

/// How long a store remembers the ids of messages, at least.
pub const MESSAGE_ID_WINDOW: Duration = Duration::from_secs(60 * 60);

/// A message of a client to an instance, with the conditions under which it is delivered. A start
/// is delivered only if the instance is new.
///
/// # Examples
///
/// ```
/// use duroxide_core as duroxide;
/// use duroxide::providers::ClientMessage;
///
/// // Safe to repeat after an error, and an error if there is no such order.
/// let message = ClientMessage::queued("order-7", "payments", "12 EUR")
///     .with_id("payment-4711")
///     .to_existing();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientMessage {
    /// The message itself.
    pub item: WorkItem,
    /// The sender's name for it: the same id twice for one instance has one effect, within
    /// [`MESSAGE_ID_WINDOW`].
    pub id: Option<String>,
    /// Whether the instance must exist, or its start be queued.
    pub existing_only: bool,
    /// The attributes of a start by their names, in their stored form.
    pub attributes: BTreeMap<String, String>,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delivery {
    /// It is in the queue of its instance.
    Enqueued,
    /// It was already sent under this id; nothing changed.
    Repeated,
    /// The instance does not exist; nothing changed.
    NotFound,
    /// It is a start, and the instance exists or its start is queued; nothing changed.
    Existing,
}

impl ClientMessage {
    /// Any message, without conditions.
    pub fn new(item: WorkItem) -> Self {
        Self { item, id: None, existing_only: false, attributes: BTreeMap::new() }
    }

    /// The start of a root instance; the node that runs it chooses the version.
    pub fn start(
        instance: impl Into<String>,
        orchestration: impl Into<String>,
        input: impl Into<String>,
    ) -> Self {
        Self::new(WorkItem::StartOrchestration {
            instance: instance.into(),
            orchestration: orchestration.into(),
            input: input.into(),
            version: None,
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            execution_id: INITIAL_EXECUTION_ID,
        })
    }

    /// A positional signal.
    pub fn signal(
        instance: impl Into<String>,
        name: impl Into<String>,
        data: impl Into<String>,
    ) -> Self {
        let (instance, name, data) = (instance.into(), name.into(), data.into());
        Self::new(WorkItem::ExternalRaised { instance, name, data })
    }

    /// A message of a queue.
    pub fn queued(
        instance: impl Into<String>,
        queue: impl Into<String>,
        data: impl Into<String>,
    ) -> Self {
        let (instance, name, data) = (instance.into(), queue.into(), data.into());
        Self::new(WorkItem::QueueMessage { instance, name, data })
    }

    /// A request to cancel.
    pub fn cancellation(instance: impl Into<String>, reason: impl Into<String>) -> Self {
        let (instance, reason) = (instance.into(), reason.into());
        Self::new(WorkItem::CancelInstance { instance, reason })
    }

    /// Names the message, so that the call may be repeated.
    #[must_use = "returns the changed message"]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Gives the instance that it starts search attributes. The store keeps them if it has
    /// [`StartAttributes`](super::ProviderCapability::StartAttributes).
    #[must_use = "returns the changed message"]
    pub fn with_attributes(mut self, attributes: &Attributes) -> Self {
        self.attributes = encode_attributes(attributes);
        self
    }

    /// Delivers it only to an instance that exists or whose start is queued.
    #[must_use = "returns the changed message"]
    pub fn to_existing(mut self) -> Self {
        self.existing_only = true;
        self
    }
}
