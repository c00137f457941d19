//! Messages with an id, and messages to instances that must exist.

use super::start::refuse_start;
use super::{Client, ClientError};
use crate::limits::MESSAGE_ID_BYTES_MAX;
use crate::model::edit::EDIT_MESSAGE;
use crate::model::stored_attribute::ATTRIBUTES_MESSAGE;
use crate::model::{WorkItem, syscall};
use crate::providers::{ClientMessage, Delivery, ProviderCapability};

impl Client {
    /// Sends a message under conditions.
    ///
    /// - With [`with_id`](ClientMessage::with_id), the call may be repeated after an error, also
    ///   after one that leaves open whether the message was stored: the same id twice has one
    ///   effect within [`MESSAGE_ID_WINDOW`](crate::providers::MESSAGE_ID_WINDOW).
    /// - With [`to_existing`](ClientMessage::to_existing), an unknown instance is
    ///   [`ClientError::InstanceNotFound`].
    /// - A start of an instance that exists, or whose start is queued, is [`Delivery::Existing`];
    ///   see also [`start_if_new`](Self::start_if_new).
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// use duroxide::providers::ClientMessage;
    ///
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let cancel = ClientMessage::cancellation("order-7", "withdrawn").to_existing();
    /// match client.deliver(cancel).await {
    ///     Err(ClientError::InstanceNotFound { .. }) => println!("there is no such order"),
    ///     other => drop(other?),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn deliver(&self, message: ClientMessage) -> Result<Delivery, ClientError> {
        let invalid = |message: String| Err(ClientError::InvalidInput { message });
        if let WorkItem::ExternalRaised { instance, name, .. } = &message.item
            && let Some(refusal) = refuse_signal(instance, name)
        {
            return invalid(refusal);
        }
        if let WorkItem::QueueMessage { instance, name, .. } = &message.item
            && let Some(refusal) = refuse_queue_message(instance, name)
        {
            return invalid(refusal);
        }
        if let Some(refusal) = refuse_start(&message.item) {
            return invalid(refusal);
        }
        let knows = |capability| self.provider().capabilities().has(capability);
        let starts = matches!(message.item, WorkItem::StartOrchestration { .. });
        if starts && !knows(ProviderCapability::NewStarts) {
            let text = "this provider cannot distinguish a new instance from an existing one";
            return invalid(text.to_owned());
        }
        if let Some(id) = &message.id {
            if id.is_empty() || id.len() > MESSAGE_ID_BYTES_MAX {
                return invalid(format!(
                    "a message id has 1 to {MESSAGE_ID_BYTES_MAX} bytes, got {}",
                    id.len()
                ));
            }
            if !knows(ProviderCapability::MessageIds) {
                return invalid("this provider does not remember the ids of messages".to_owned());
            }
        }
        if !message.attributes.is_empty() && !knows(ProviderCapability::StartAttributes) {
            return invalid("this provider does not keep the attributes of a start".to_owned());
        }
        let instance_id = message.item.target_instance().to_owned();
        let cancelled = if let WorkItem::CancelInstance { reason, .. } = &message.item {
            Some(reason.clone())
        } else {
            None
        };
        let delivery = self.provider().send_message(message).await?;
        if delivery == Delivery::NotFound {
            return Err(ClientError::InstanceNotFound { instance_id });
        }
        if let Some(reason) = cancelled {
            self.cancel_suspended(&instance_id, &reason).await?;
        }
        Ok(delivery)
    }
}

/// Why a message for a queue is refused, if it is.
pub(super) fn refuse_queue_message(instance: &str, name: &str) -> Option<String> {
    if let Some(refusal) = refuse_empty(instance, "queue", name) {
        return Some(refusal);
    }
    [ATTRIBUTES_MESSAGE, EDIT_MESSAGE]
        .contains(&name)
        .then(|| format!("queue name '{name}' is reserved; choose another name"))
}

/// Why a signal is refused, if it is.
pub(super) fn refuse_signal(instance: &str, name: &str) -> Option<String> {
    refuse_empty(instance, "event", name).or_else(|| refuse_event_name(name))
}

fn refuse_empty(instance: &str, what: &str, name: &str) -> Option<String> {
    if instance.is_empty() {
        return Some("an instance needs an id that is not empty".to_owned());
    }
    name.is_empty().then(|| format!("the {what} for '{instance}' has no name"))
}

fn refuse_event_name(name: &str) -> Option<String> {
    name.starts_with(syscall::PREFIX).then(|| {
        format!(
            "event name '{name}' uses the reserved prefix '{}'; choose another name",
            syscall::PREFIX
        )
    })
}
