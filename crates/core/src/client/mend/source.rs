//! The execution that is mended, as it is stored.

use crate::client::{Client, ClientError};
use crate::model::mended::Lineage;
use crate::model::start::ParentCall;
use crate::model::{Event, EventKind, ExecutionStatus};
use crate::providers::{
    InstanceOutcome, ProviderError, ProviderErrorKind, StoredEvent, StoredEventsQuery,
};

/// An execution with all its events.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) instance: String,
    pub(super) execution_id: u64,
    /// Those that can be decoded. The first is the start.
    pub(super) events: Vec<Event>,
    /// The numbers of the others.
    pub(super) undecodable: Vec<u64>,
}

impl Source {
    /// The events of one execution; `None` if its start is missing.
    pub(super) fn new(
        instance: &str,
        execution_id: u64,
        stored: impl IntoIterator<Item = StoredEvent>,
    ) -> Option<Self> {
        let mut source = Self {
            instance: instance.to_owned(),
            execution_id,
            events: Vec::new(),
            undecodable: Vec::new(),
        };
        for event in stored {
            match event {
                StoredEvent::Decoded(event) => source.events.push(*event),
                StoredEvent::Raw(event) => source.undecodable.push(event.event_id),
            }
        }
        let start = source.events.first()?;
        let is_whole = source.undecodable.iter().all(|id| *id > start.event_id);
        (start.is_start() && is_whole).then_some(source)
    }

    pub(super) fn start(&self) -> Option<&Event> {
        self.events.first()
    }

    pub(super) fn last_event_id(&self) -> u64 {
        let last = self.events.last().map_or(0, Event::event_id);
        self.undecodable.last().copied().unwrap_or(0).max(last)
    }

    /// The last event, if the execution has ended.
    pub(super) fn end(&self) -> Option<&Event> {
        self.events.iter().find(|event| event.is_terminal())
    }

    pub(super) fn status(&self) -> ExecutionStatus {
        let status = self.end().and_then(|end| end.kind.final_status());
        status.unwrap_or(ExecutionStatus::Running)
    }

    pub(super) fn lineage(&self) -> Lineage {
        Lineage::of(&self.events)
    }

    /// The call that waits for the instance.
    pub(super) fn parent(&self) -> Option<ParentCall> {
        ParentCall::of_event(&self.start()?.kind)
    }

    /// Whether the execution changed keys.
    pub(super) fn changes_keys(&self) -> bool {
        let changes = |event: &Event| {
            matches!(
                event.kind,
                EventKind::KeyValueSet { .. }
                    | EventKind::KeyValueCleared { .. }
                    | EventKind::KeyValuesCleared
            )
        };
        self.events.iter().any(changes)
    }
}

impl Client {
    /// Reads the latest execution of an instance.
    pub(super) async fn read_source(&self, instance: &str) -> Result<Source, ClientError> {
        let admin = self.admin()?;
        if self.provider().read_outcome(instance).await? == InstanceOutcome::NotFound {
            return Err(ClientError::InstanceNotFound { instance_id: instance.to_owned() });
        }
        let execution_id = admin.latest_execution_id(instance).await?;
        let mut stored = Vec::new();
        let mut query = StoredEventsQuery::new(instance, execution_id);
        loop {
            let events = admin.read_stored_events(query.clone()).await?;
            let Some(last) = events.last().map(StoredEvent::event_id) else { break };
            stored.extend(events);
            query = query.behind(last);
        }
        let source = Source::new(instance, execution_id, stored);
        source.ok_or_else(|| {
            refused(format!("the start of instance {instance} cannot be decoded by this build"))
        })
    }
}

/// The instance is not in a state in which it can be mended.
pub(super) fn conflict(text: String) -> ClientError {
    ProviderError::permanent("mend", text).with_kind(ProviderErrorKind::Conflict).into()
}

/// The instance cannot be mended in this way.
pub(super) fn refused(message: String) -> ClientError {
    ClientError::InvalidInput { message }
}
