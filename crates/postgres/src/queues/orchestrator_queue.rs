//! Messages for orchestrations: enqueueing.

use duroxide_core::providers::kit::{EncodedMessage, MessageKind};
use duroxide_core::providers::{ClientMessage, NeededCode, WorkItem};
use tokio::time::Instant;
use uuid::Uuid;

use crate::connect::session::Session;
use crate::error::JobError;
use crate::fast_path::starts::PendingStart;
use crate::notify::change::Changes;
use crate::schema::call::Argument;
use crate::schema::codes;
use crate::schema::number::to_db;
use crate::schema::stored_text::stored;
use crate::store::Store;
use crate::write::sender::Sending;

/// A message in its stored form.
#[derive(Debug, Clone)]
pub(crate) struct NewMessage {
    pub(crate) instance: String,
    pub(crate) text: String,
    /// Due time of a timer; other messages are visible at once.
    pub(crate) due: Option<i64>,
    pub(crate) kind: MessageKind,
    /// The code that a start requests.
    pub(crate) code: Option<NeededCode>,
}

impl NewMessage {
    /// Encodes a message; `None` if it does not belong to this queue.
    pub(crate) fn encode(item: &WorkItem) -> Result<Option<Self>, JobError> {
        Ok(EncodedMessage::encode(item)?.map(|message| Self::of(item, message)))
    }

    /// Encodes a message of this queue; refuses an activity.
    pub(crate) fn encode_message(item: &WorkItem) -> Result<Self, JobError> {
        Ok(Self::of(item, EncodedMessage::encode_message(item)?))
    }

    /// Encodes the completion of an activity; refuses any other message.
    pub(crate) fn encode_completion(item: &WorkItem) -> Result<Self, JobError> {
        Ok(Self::of(item, EncodedMessage::encode_completion(item)?))
    }

    /// Encodes a message of a client; refuses an activity.
    pub(crate) fn encode_client_message(message: &ClientMessage) -> Result<Self, JobError> {
        Ok(Self::of(&message.item, EncodedMessage::encode_client_message(message)?))
    }

    fn of(item: &WorkItem, message: EncodedMessage<'_>) -> Self {
        Self {
            instance: stored(message.instance),
            text: message.text,
            due: message.due_ms.map(to_db),
            kind: message.kind,
            code: NeededCode::of_message(item),
        }
    }

    /// The key of the code that a start requests.
    pub(crate) fn code_key(&self) -> Option<Vec<u8>> {
        self.code.as_ref().map(|code| code_key(&code.key()))
    }
}

/// A code key in its stored form.
pub(crate) fn code_key(key: &str) -> Vec<u8> {
    stored(key).into_bytes()
}

/// A message that is hidden for a while.
#[derive(Debug)]
pub(crate) struct DelayedMessage {
    pub(crate) message: NewMessage,
    pub(crate) delay: i64,
    /// For a start whose first turn already runs.
    pub(crate) lease: Option<TurnLease>,
}

/// The lease of a first turn that runs before its start is stored. If the instance already exists,
/// this lease is void.
#[derive(Debug)]
pub(crate) struct TurnLease {
    pub(crate) token: Uuid,
    pub(crate) lock_for: i64,
    /// Kept until the message is written: other calls of the turn wait for that.
    pub(crate) _storing: PendingStart,
}

/// Adds messages.
pub(crate) async fn insert_all(
    store: &Store,
    session: &Session,
    messages: &[&DelayedMessage],
    sending: Option<Sending>,
) -> Result<Changes, JobError> {
    let instances: Vec<&str> = messages.iter().map(|it| it.message.instance.as_str()).collect();
    let texts: Vec<&str> = messages.iter().map(|it| it.message.text.as_str()).collect();
    let delays: Vec<i64> = messages.iter().map(|it| it.delay).collect();
    let kinds: Vec<i16> = messages.iter().map(|it| codes::message_kind(it.message.kind)).collect();
    let codes: Vec<Option<Vec<u8>>> = messages.iter().map(|it| it.message.code_key()).collect();
    let leases = || messages.iter().map(|it| it.lease.as_ref());
    let tokens: Vec<Option<Uuid>> = leases().map(|it| it.map(|lease| lease.token)).collect();
    let lock_for: Vec<Option<i64>> = leases().map(|it| it.map(|lease| lease.lock_for)).collect();
    let arguments: [Argument<'_>; 10] = [
        ("p_now", &store.now()),
        ("m_instance", &instances),
        ("m_item", &texts),
        ("m_delay", &delays),
        ("m_kind", &kinds),
        ("m_code", &codes),
        ("m_token", &tokens),
        ("m_lock_for", &lock_for),
        ("p_sender", &sending.map(|it| it.sender)),
        ("p_number", &sending.map(|it| it.number)),
    ];
    let requested = Instant::now();
    let rows = session.call(&store.schema, ENQUEUE_MESSAGES, &arguments).await?;
    if let Some(row) = rows.first() {
        store.observe_server_time(requested, row.get("o_now"));
    }
    Ok(added())
}

/// What a new message changes.
pub(crate) fn added() -> Changes {
    let mut changes = Changes::default();
    changes.orchestrator_queue();
    changes
}

/// The function that adds messages.
pub(crate) const ENQUEUE_MESSAGES: &str = "enqueue_messages";
