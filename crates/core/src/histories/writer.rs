//! Writes histories.

use std::io::Write;

use serde::{Deserialize, Serialize};

use super::format::{
    DamagedEvent, DamagedLine, ExecutionFacts, ExecutionLine, FileLine, HISTORIES_ALONE,
    HistoriesError,
};
use super::recorded::RecordedHistory;
use super::undecodable::UndecodableHistory;
use crate::model::event::build_version;
use crate::providers::{RawEvent, StoredEvent};

/// A JSON object that says which event it is.
#[derive(Deserialize)]
struct NumberedObject {
    event_id: Option<u64>,
}

impl NumberedObject {
    fn of(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().filter(|_| text.trim_start().starts_with('{'))
    }
}

/// Writes histories as JSON lines.
#[derive(Debug)]
pub struct HistoryWriter<W> {
    place: String,
    output: W,
}

impl<W: Write> HistoryWriter<W> {
    /// Writes the first line. `place` names the output in errors.
    ///
    /// # Errors
    /// When the output fails.
    pub fn new(place: impl Into<String>, output: W) -> Result<Self, HistoriesError> {
        Self::of_format(place, output, HISTORIES_ALONE)
    }

    /// Writes the first line of a file of this version.
    pub(crate) fn of_format(
        place: impl Into<String>,
        output: W,
        duroxide_histories: u32,
    ) -> Result<Self, HistoriesError> {
        let mut writer = Self { place: place.into(), output };
        let written_by = build_version().to_owned();
        writer.line(&FileLine { duroxide_histories, written_by })?;
        Ok(writer)
    }

    /// Writes one execution.
    ///
    /// # Errors
    /// When the output fails.
    pub fn write(&mut self, history: &RecordedHistory) -> Result<(), HistoriesError> {
        let execution = ExecutionFacts {
            instance: history.instance_id.clone(),
            execution_id: history.execution_id,
            kv: history.kv.clone(),
            events: history.events.len(),
        };
        self.line(&ExecutionLine { execution })?;
        history.events.iter().try_for_each(|event| self.line(event))
    }

    /// Writes one execution with events that this build cannot decode.
    pub(super) fn write_undecodable(
        &mut self,
        history: &UndecodableHistory,
    ) -> Result<(), HistoriesError> {
        let execution = ExecutionFacts {
            instance: history.instance_id.clone(),
            execution_id: history.execution_id,
            kv: history.kv.clone(),
            events: history.events.len(),
        };
        self.line(&ExecutionLine { execution })?;
        for event in &history.events {
            match event {
                StoredEvent::Decoded(event) => self.line(event)?,
                StoredEvent::Raw(raw) => self.raw_line(raw)?,
            }
        }
        Ok(())
    }

    /// Writes an event as it is stored, on one line.
    pub(crate) fn raw_line(&mut self, raw: &RawEvent) -> Result<(), HistoriesError> {
        match NumberedObject::of(&raw.text) {
            Some(event) if event.event_id == Some(raw.event_id) => {
                // JSON has line breaks only between its parts.
                self.text(raw.text.trim().replace(['\n', '\r'], " ").as_bytes())
            }
            Some(_) | None => {
                let RawEvent { event_id, text, error, .. } = raw.clone();
                self.line(&DamagedLine { damaged_event: DamagedEvent { event_id, text, error } })
            }
        }
    }

    /// Flushes the output and returns it.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> Result<W, HistoriesError> {
        self.output.flush().map_err(|error| HistoriesError::io(&self.place, error))?;
        Ok(self.output)
    }

    pub(crate) fn line(&mut self, value: &impl Serialize) -> Result<(), HistoriesError> {
        let text = serde_json::to_vec(value)
            .map_err(|error| HistoriesError::io(&self.place, error.into()))?;
        self.text(&text)
    }

    fn text(&mut self, text: &[u8]) -> Result<(), HistoriesError> {
        let written = self.output.write_all(text).and_then(|()| self.output.write_all(b"\n"));
        written.map_err(|error| HistoriesError::io(&self.place, error))
    }
}
