//! The facts of a start event.

use std::sync::Arc;

pub(crate) use crate::model::start::ParentCall;
use crate::model::{Event, EventKind};

/// Knows how instances that are in memory were started.
pub(crate) trait KnownStarts: Send + Sync {
    /// The start of an instance; `None` if only the store knows it.
    fn facts(&self, instance: &str) -> Option<Arc<StartFacts>>;
}

/// The parts of a start event that later turns need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StartFacts {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) parent: Option<ParentCall>,
    /// Version that the execution is pinned to, as recorded.
    pub(crate) pin: String,
    pub(crate) started_at_ms: u64,
}

impl StartFacts {
    /// `None` if the event is not a start.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        let EventKind::OrchestrationStarted { name, version, .. } = &event.kind else {
            return None;
        };
        Some(Self {
            name: name.clone(),
            version: version.clone(),
            parent: ParentCall::of_event(&event.kind),
            pin: event.duroxide_version.clone(),
            started_at_ms: event.timestamp_ms,
        })
    }
}
