//! The constructors of [`Event`] that stamp it with the current time.
//!
//! They live outside `model` because the model reads no clock; the runtime builds its events with
//! the time of their turn.

use crate::clock::{Clock, SystemClock};
use crate::model::event::build_version;
use crate::model::{Event, EventKind};

impl Event {
    /// An event with a known position, stamped with the current time and this build's version.
    pub fn with_event_id(
        event_id: u64,
        instance_id: impl Into<String>,
        execution_id: u64,
        source_event_id: Option<u64>,
        kind: EventKind,
    ) -> Self {
        Self {
            event_id,
            source_event_id,
            instance_id: instance_id.into(),
            execution_id,
            timestamp_ms: SystemClock.now_ms(),
            duroxide_version: build_version().to_owned(),
            kind,
        }
    }

    /// An event whose position is assigned later.
    pub fn new(
        instance_id: impl Into<String>,
        execution_id: u64,
        source_event_id: Option<u64>,
        kind: EventKind,
    ) -> Self {
        Self::with_event_id(0, instance_id, execution_id, source_event_id, kind)
    }
}
