//! Writes histories.

use std::io::Write;

use serde::Serialize;

use super::format::{ExecutionFacts, ExecutionLine, FileLine, HISTORIES_FORMAT, HistoriesError};
use super::recorded::RecordedHistory;
use crate::model::event::build_version;

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
        let mut writer = Self { place: place.into(), output };
        let written_by = build_version().to_owned();
        writer.line(&FileLine { duroxide_histories: HISTORIES_FORMAT, written_by })?;
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

    /// Flushes the output and returns it.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(mut self) -> Result<W, HistoriesError> {
        self.output.flush().map_err(|error| HistoriesError::io(&self.place, error))?;
        Ok(self.output)
    }

    fn line(&mut self, value: &impl Serialize) -> Result<(), HistoriesError> {
        let mut text = serde_json::to_vec(value)
            .map_err(|error| HistoriesError::io(&self.place, error.into()))?;
        text.push(b'\n');
        self.output.write_all(&text).map_err(|error| HistoriesError::io(&self.place, error))
    }
}
