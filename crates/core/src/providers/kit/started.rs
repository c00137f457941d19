//! What an instance runs that is not stored yet.

use super::decode_event;
use crate::model::{EventKind, WorkItem};

/// The orchestration that a start event or a start message names.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StartedOrchestration {
    /// Its registered name.
    pub name: String,
    /// Its version; `unknown` while the registry has not chosen one.
    pub version: String,
}

const UNKNOWN: &str = "unknown";

impl StartedOrchestration {
    /// What a history starts that was seeded without its instance. A first event that is missing,
    /// damaged or of another kind leaves name and version unknown.
    pub fn from_first_event(first: Option<&str>) -> Self {
        let event = first.and_then(|text| decode_event(text).ok());
        match event.map(|event| event.kind) {
            Some(EventKind::OrchestrationStarted { name, version, .. }) => Self { name, version },
            _not_a_start => Self { name: UNKNOWN.to_owned(), version: UNKNOWN.to_owned() },
        }
    }

    /// What a message starts, if it does.
    pub fn from_message(message: &WorkItem) -> Option<Self> {
        let (WorkItem::StartOrchestration { orchestration, version, .. }
        | WorkItem::ContinueAsNew { orchestration, version, .. }) = message
        else {
            return None;
        };
        let version = version.clone().unwrap_or_else(|| UNKNOWN.to_owned());
        Some(Self { name: orchestration.clone(), version })
    }
}
