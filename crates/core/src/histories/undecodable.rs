//! Executions with events that this build cannot decode.

use std::collections::BTreeMap;

use super::format::HistoriesError;
use crate::model::{Event, KvEntry};
use crate::providers::{
    ProviderAdmin, ProviderError, ProviderErrorKind, RawEvent, StoredEvent, StoredEventsQuery,
};

/// The history of one execution, of which some events cannot be decoded.
#[derive(Debug)]
pub(crate) struct UndecodableHistory {
    pub(crate) instance_id: String,
    pub(crate) execution_id: u64,
    /// The keys that earlier executions left behind.
    pub(super) kv: BTreeMap<String, KvEntry>,
    /// All events, in order. Empty if the store does not return those that cannot be decoded.
    pub(super) events: Vec<StoredEvent>,
    /// Why the store could not decode the history.
    pub(super) error: String,
}

impl UndecodableHistory {
    /// Reads all events as they are stored.
    pub(super) async fn read(
        admin: &dyn ProviderAdmin,
        (instance, execution_id): (&str, u64),
        error: String,
    ) -> Result<Self, ProviderError> {
        let mut history = Self {
            instance_id: instance.to_owned(),
            execution_id,
            kv: BTreeMap::new(),
            events: Vec::new(),
            error,
        };
        let mut query = StoredEventsQuery::new(instance, execution_id);
        loop {
            let events = match admin.read_stored_events(query.clone()).await {
                Err(error) if error.kind == ProviderErrorKind::Undecodable => return Ok(history),
                events => events?,
            };
            let Some(last) = events.last().map(StoredEvent::event_id) else { return Ok(history) };
            history.events.extend(events);
            query = query.behind(last);
        }
    }

    /// Which event cannot be decoded, and why.
    pub(crate) fn error(&self) -> String {
        let raw = self.events.iter().find_map(|event| match event {
            StoredEvent::Raw(raw) => Some(raw),
            StoredEvent::Decoded(_) => None,
        });
        raw.map_or_else(|| self.error.clone(), describe)
    }

    /// The events that can be decoded.
    pub(super) fn decoded(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter().filter_map(StoredEvent::decoded)
    }

    pub(super) fn into_error(self) -> HistoriesError {
        let message = self.error();
        let Self { instance_id: instance, execution_id, .. } = self;
        HistoriesError::Undecodable { instance, execution_id, message }
    }
}

/// Which event it is, and why it cannot be decoded.
pub(super) fn describe(event: &RawEvent) -> String {
    let RawEvent { event_id, kind, error, .. } = event;
    match kind {
        Some(kind) => format!("event {event_id} of kind `{kind}` cannot be decoded: {error}"),
        None => format!("event {event_id} cannot be decoded: {error}"),
    }
}
