//! What an instance waits for, in a few words, by its history.

use std::collections::BTreeMap;

use super::{Client, ClientError};
use crate::limits::{WAITING_EVENTS_MAX, WAITING_SHOWN_MAX};
use crate::model::{Event, EventKind};
use crate::providers::{StoredEvent, StoredEventsQuery};
use crate::query::{InstanceRow, RowStatus};

/// What an execution waits for, by the event that asked for it.
#[derive(Debug, Default)]
struct OpenWaits {
    waits: BTreeMap<u64, Wait>,
}

#[derive(Debug, PartialEq, Eq)]
enum Wait {
    Activity(String),
    Timer,
    Event(String),
    Queue(String),
    Child(String),
}

impl Wait {
    fn text(&self) -> String {
        match self {
            Self::Activity(name) => format!("activity {name}"),
            Self::Timer => "timer".to_owned(),
            Self::Event(name) => format!("event {name}"),
            Self::Queue(name) => format!("queue {name}"),
            Self::Child(name) => format!("orchestration {name}"),
        }
    }
}

impl OpenWaits {
    fn note(&mut self, event: &Event) {
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "every other event that ends a wait names the one that began it"
        )]
        let opened = match &event.kind {
            EventKind::ActivityScheduled { name, .. } => Some(Wait::Activity(name.clone())),
            EventKind::TimerCreated { .. } => Some(Wait::Timer),
            EventKind::ExternalSubscribed { name } => Some(Wait::Event(name.clone())),
            EventKind::QueueSubscribed { name } => Some(Wait::Queue(name.clone())),
            EventKind::SubOrchestrationScheduled { name, .. } => Some(Wait::Child(name.clone())),
            EventKind::ExternalEvent { name, .. } => {
                self.deliver(&Wait::Event(name.clone()));
                None
            }
            EventKind::QueueEventDelivered { name, .. } => {
                self.deliver(&Wait::Queue(name.clone()));
                None
            }
            _ => None,
        };
        if let Some(source) = event.source_event_id {
            self.waits.remove(&source);
        }
        if let Some(opened) = opened {
            self.waits.insert(event.event_id, opened);
        }
    }

    /// The oldest subscription of a name gets what arrives under it.
    fn deliver(&mut self, name: &Wait) {
        let oldest = self.waits.iter().find(|(_, wait)| *wait == name).map(|(id, _)| *id);
        if let Some(id) = oldest {
            self.waits.remove(&id);
        }
    }

    fn texts(&self) -> Vec<String> {
        self.waits.values().take(WAITING_SHOWN_MAX).map(Wait::text).collect()
    }
}

impl Client {
    /// Says in each row of a running instance what it waits for.
    pub(super) async fn add_waiting(&self, rows: &mut [InstanceRow]) -> Result<(), ClientError> {
        for row in rows {
            if matches!(row.status, RowStatus::Running | RowStatus::Suspended) {
                row.waiting_for = self.waiting_for(&row.instance_id, row.executions).await?;
            }
        }
        Ok(())
    }

    /// `None` if the history is too long to be read for a row.
    async fn waiting_for(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Option<Vec<String>>, ClientError> {
        let admin = self.admin()?;
        let mut open = OpenWaits::default();
        let mut query = StoredEventsQuery::new(instance, execution_id);
        let mut read = 0;
        loop {
            let events = admin.read_stored_events(query.clone()).await?;
            let Some(last) = events.last().map(StoredEvent::event_id) else {
                return Ok(Some(open.texts()));
            };
            read += events.len();
            if read > WAITING_EVENTS_MAX {
                return Ok(None);
            }
            for event in &events {
                if let StoredEvent::Decoded(event) = event {
                    open.note(event);
                }
            }
            query = query.behind(last);
        }
    }
}
