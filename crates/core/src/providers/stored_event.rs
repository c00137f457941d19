//! Events as they are stored, whether this build knows their kind or not.

use serde::Deserialize;

use crate::model::Event;

/// One event of a history.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StoredEvent {
    /// An event that this build knows.
    Decoded(Box<Event>),
    /// An event that this build cannot decode: a later release wrote it, or it is damaged.
    Raw(RawEvent),
}

impl StoredEvent {
    /// Its place in the history.
    pub fn event_id(&self) -> u64 {
        match self {
            Self::Decoded(event) => event.event_id,
            Self::Raw(event) => event.event_id,
        }
    }

    /// The event, if this build knows it.
    pub fn decoded(&self) -> Option<&Event> {
        match self {
            Self::Decoded(event) => Some(event),
            Self::Raw(_) => None,
        }
    }
}

/// An event that this build cannot decode.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawEvent {
    /// Its place in the history.
    pub event_id: u64,
    /// Its kind, the key `type`; `None` if the text is not JSON or has no such key.
    pub kind: Option<String>,
    /// Milliseconds since the Unix epoch, if the text says so.
    pub timestamp_ms: Option<u64>,
    /// The release that wrote it, if the text says so.
    pub duroxide_version: Option<String>,
    /// The stored text: JSON, unless it is damaged.
    pub text: String,
    /// Why it cannot be decoded.
    pub error: String,
}

/// The keys that events of every kind have.
#[derive(Default, Deserialize)]
struct Envelope {
    #[serde(rename = "type")]
    kind: Option<String>,
    timestamp_ms: Option<u64>,
    duroxide_version: Option<String>,
}

impl RawEvent {
    /// An event whose stored text cannot be decoded for this reason.
    pub fn new(event_id: u64, text: String, error: String) -> Self {
        let Envelope { kind, timestamp_ms, duroxide_version } =
            serde_json::from_str(&text).unwrap_or_default();
        Self { event_id, kind, timestamp_ms, duroxide_version, text, error }
    }

    /// The stored JSON; `None` if the text is damaged.
    pub fn json(&self) -> Option<serde_json::Value> {
        serde_json::from_str(&self.text).ok()
    }
}

/// Asks for events of one execution.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredEventsQuery {
    /// The instance.
    pub instance: String,
    /// The execution.
    pub execution_id: u64,
    /// Only events behind this one.
    pub after: u64,
}

impl StoredEventsQuery {
    /// Asks for the first events.
    pub fn new(instance: impl Into<String>, execution_id: u64) -> Self {
        Self { instance: instance.into(), execution_id, after: 0 }
    }

    /// Only events behind this one.
    #[must_use]
    pub fn behind(mut self, event_id: u64) -> Self {
        self.after = event_id;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_event_shows_what_its_text_says() {
        let text = r#"{"event_id":3,"timestamp_ms":7,"duroxide_version":"9.9.0","type":"New"}"#;
        let event = RawEvent::new(3, text.to_owned(), "unknown variant".to_owned());
        assert_eq!(event.kind.as_deref(), Some("New"));
        assert_eq!(event.timestamp_ms, Some(7));
        assert_eq!(event.duroxide_version.as_deref(), Some("9.9.0"));
        assert_eq!(event.json().unwrap()["type"], "New");
    }

    #[test]
    fn a_damaged_text_is_kept() {
        let event = RawEvent::new(3, "damaged".to_owned(), "expected value".to_owned());
        assert_eq!((event.kind.clone(), event.timestamp_ms, event.json()), (None, None, None));
        assert_eq!(event.text, "damaged");
    }
}
