//! Messages for orchestrations: enqueueing, and what happens to those of unknown instances.

use duroxide_core::clock::millis;
use duroxide_core::providers::kit::{EncodedMessage, MessageKind};
use duroxide_core::providers::{ClientMessage, Delivery, MESSAGE_ID_WINDOW, WorkItem};

use super::refusal::Refusal;
use super::store::{Message, Store};

/// A message in its stored form.
#[derive(Debug)]
pub(crate) struct NewMessage {
    instance: String,
    text: String,
    /// When a timer is due.
    due: Option<u64>,
    is_start: bool,
}

impl NewMessage {
    /// Encodes a message. An activity belongs to the other queue.
    pub(crate) fn encode(item: &WorkItem) -> Result<Self, Refusal> {
        Ok(EncodedMessage::encode_message(item)?.into())
    }

    /// Encodes the message that completes an activity.
    pub(crate) fn encode_completion(item: &WorkItem) -> Result<Self, Refusal> {
        Ok(EncodedMessage::encode_completion(item)?.into())
    }

    /// Encodes the messages of a commit. An activity among them is discarded.
    pub(crate) fn encode_all<'a>(
        items: impl Iterator<Item = &'a WorkItem>,
    ) -> Result<Vec<Self>, Refusal> {
        let encoded = items.filter_map(|item| EncodedMessage::encode(item).transpose());
        encoded.map(|message| Ok(message?.into())).collect()
    }

    /// When a commit makes it visible: a timer when it is due, anything else at once.
    pub(crate) fn visible_at(&self, now: u64) -> u64 {
        self.due.unwrap_or(now)
    }
}

impl From<EncodedMessage<'_>> for NewMessage {
    fn from(message: EncodedMessage<'_>) -> Self {
        Self {
            instance: message.instance.to_owned(),
            text: message.text,
            due: message.due_ms,
            is_start: message.kind == MessageKind::Start,
        }
    }
}

/// Adds a message. It never creates an instance: only the first commit does.
pub(crate) fn insert(store: &mut Store, now: u64, message: NewMessage, visible_at: u64) {
    if message.is_start {
        // Parked messages of this instance are delivered with its start.
        unpark(store, &message.instance);
    }
    let message = Message {
        instance: message.instance,
        text: message.text,
        visible_at,
        enqueued_at: now,
        attempt_count: 0,
        excused: 0,
        turn: None,
        parked: false,
    };
    let number = store.next_number();
    store.messages.insert(number, message);
}

/// Adds a message of a client. An id has one effect until it expires.
pub(crate) fn send(
    store: &mut Store,
    now: u64,
    message: &ClientMessage,
) -> Result<Delivery, Refusal> {
    let encoded: NewMessage = EncodedMessage::encode_client_message(message)?.into();
    let instance = encoded.instance.clone();
    let mut queued = store.messages.values().filter(|queued| queued.instance == instance);
    let is_starting = queued.any(|queued| decode(&queued.text).is_some_and(|item| item.is_start()));
    let is_known = is_starting || store.records.contains_key(&instance);
    if message.existing_only && !is_known {
        return Ok(Delivery::NotFound);
    }
    store.message_ids.retain(|_, expires_at| *expires_at > now);
    let id = message.id.clone().map(|id| (instance, id));
    if id.as_ref().is_some_and(|id| store.message_ids.contains_key(id)) {
        return Ok(Delivery::Repeated);
    }
    if is_known && matches!(message.item, WorkItem::StartOrchestration { .. }) {
        return Ok(Delivery::Existing);
    }
    let expires_at = now.saturating_add(millis(MESSAGE_ID_WINDOW));
    store.message_ids.extend(id.map(|id| (id, expires_at)));
    insert(store, now, encoded, now);
    Ok(Delivery::Enqueued)
}

/// Makes the parked messages of an instance fetchable.
pub(crate) fn unpark(store: &mut Store, instance: &str) {
    for message in store.messages.values_mut().filter(|message| message.instance == instance) {
        message.parked = false;
    }
}

/// The numbers of the messages that a turn of `instance` gets now, in order of arrival.
pub(crate) fn ready(store: &Store, instance: &str, now: u64) -> Vec<u64> {
    let ready = store.messages.iter();
    ready
        .filter(|(_, message)| message.instance == instance && message.is_ready(now))
        .map(|(number, _)| *number)
        .collect()
}

/// The message behind a text, if it can be decoded.
pub(crate) fn decode(text: &str) -> Option<WorkItem> {
    serde_json::from_str(text).ok()
}

/// Parks or drops messages of an unknown instance without a start, so that they block no other
/// instance and fetches do not read them again. Nothing counts as an attempt. Queue messages are
/// lossless and wait; any other message could only harm an instance that is started later.
///
/// The rule reads the messages, not the kit's `MessageKind`, so that the differential test checks
/// both.
pub(crate) fn park_or_drop(store: &mut Store, now: u64, instance: &str) {
    let numbers = ready(store, instance, now);
    if let Some(visible_at) = hidden_start(store, instance, now) {
        // The start was abandoned with a delay, so the messages wait until it is visible again.
        update_each(store, &numbers, |message| message.visible_at = visible_at);
        return;
    }
    let (waiting, useless): (Vec<u64>, Vec<u64>) = numbers.into_iter().partition(|number| {
        let item = decode(&store.messages[number].text);
        matches!(item, Some(WorkItem::QueueMessage { .. }) | None)
    });
    tracing::warn!(
        instance,
        parked = waiting.len(),
        dropped = useless.len(),
        "setting messages aside for an instance that does not exist"
    );
    store.messages.retain(|number, _| !useless.contains(number));
    update_each(store, &waiting, |message| {
        message.parked = true;
        message.visible_at = now;
    });
}

fn update_each(store: &mut Store, numbers: &[u64], update: impl Fn(&mut Message)) {
    for number in numbers {
        if let Some(message) = store.messages.get_mut(number) {
            message.turn = None;
            update(message);
        }
    }
}

/// When the first start that is still hidden becomes visible.
fn hidden_start(store: &Store, instance: &str, now: u64) -> Option<u64> {
    let hidden = store.messages.values();
    hidden
        .filter(|message| message.instance == instance && message.visible_at > now)
        .filter(|message| decode(&message.text).is_some_and(|item| item.is_start()))
        .map(|message| message.visible_at)
        .min()
}
