//! What an execution has asked for and not got, by its stored history.

use std::collections::{BTreeMap, BTreeSet};

use super::{Client, ClientError};
use crate::model::{Event, EventKind, build_child_instance_id};
use crate::providers::{StoredEvent, StoredEventsQuery};

/// The start of an execution and its unresolved calls. Events that this build cannot decode are
/// passed over.
#[derive(Debug, Default)]
pub(super) struct OpenCalls {
    pub(super) start: Option<Event>,
    /// Activities that are scheduled, not finished and not cancelled.
    pub(super) activities: BTreeSet<u64>,
    /// Ids of children by the call that waits for them, cancelled ones included.
    pub(super) children: BTreeMap<u64, String>,
    /// Some events cannot be decoded.
    pub(super) is_partial: bool,
}

impl OpenCalls {
    fn note(&mut self, event: StoredEvent) {
        let StoredEvent::Decoded(event) = event else {
            self.is_partial = true;
            return;
        };
        let source = event.source_event_id.unwrap_or_default();
        if event.is_start() {
            self.start = Some(*event);
        } else if matches!(event.kind, EventKind::ActivityScheduled { .. }) {
            self.activities.insert(event.event_id);
        } else if let EventKind::SubOrchestrationScheduled { instance, .. } = &event.kind {
            let child = build_child_instance_id(&event.instance_id, instance);
            self.children.insert(event.event_id, child);
        } else if matches!(
            event.kind,
            EventKind::ActivityCompleted { .. }
                | EventKind::ActivityFailed { .. }
                | EventKind::ActivityCancelRequested { .. }
        ) {
            self.activities.remove(&source);
        } else if matches!(
            event.kind,
            EventKind::SubOrchestrationCompleted { .. } | EventKind::SubOrchestrationFailed { .. }
        ) {
            self.children.remove(&source);
        }
    }
}

impl Client {
    /// Reads what is open in one execution.
    pub(super) async fn open_calls(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<OpenCalls, ClientError> {
        let admin = self.admin()?;
        let mut open = OpenCalls::default();
        let mut query = StoredEventsQuery::new(instance, execution_id);
        loop {
            let events = admin.read_stored_events(query.clone()).await?;
            let Some(last) = events.last().map(StoredEvent::event_id) else { return Ok(open) };
            events.into_iter().for_each(|event| open.note(event));
            query = query.behind(last);
        }
    }
}
