//! Writes whole instances.

use std::io::Write;

use super::error::TransferError;
use super::lines::{InstanceEnd, Line};
use crate::histories::{HISTORIES_FORMAT, HistoriesError, HistoryWriter};
use crate::providers::{CopiedEvent, RawEvent};

/// Writes instances as JSON lines.
#[derive(Debug)]
pub struct InstanceWriter<W> {
    lines: HistoryWriter<W>,
    /// What was written of the current instance.
    written: InstanceEnd,
}

impl<W: Write> InstanceWriter<W> {
    /// Writes the first line. `place` names the output in errors.
    ///
    /// # Errors
    /// When the output fails.
    pub fn new(place: impl Into<String>, output: W) -> Result<Self, TransferError> {
        let lines = HistoryWriter::of_format(place, output, HISTORIES_FORMAT)?;
        Ok(Self { lines, written: InstanceEnd::default() })
    }

    /// Flushes the output and returns it.
    ///
    /// # Errors
    /// When the output fails.
    pub fn finish(self) -> Result<W, TransferError> {
        Ok(self.lines.finish()?)
    }

    /// Writes one line, and counts it.
    pub(super) fn line(&mut self, line: &Line) -> Result<(), HistoriesError> {
        let written = &mut self.written;
        match line {
            Line::Instance(facts) => {
                *written = InstanceEnd { id: facts.id.clone(), ..InstanceEnd::default() };
            }
            Line::Execution(_) => written.executions += 1,
            Line::Key(_) => written.keys += 1,
            Line::MessageId(_) => written.message_ids += 1,
            Line::Activity(_) => written.activities += 1,
            Line::Message(_) => written.messages += 1,
            Line::InstanceEnd(_) => {}
        }
        self.lines.line(line)
    }

    /// Writes an event in its stored form.
    pub(super) fn event(&mut self, event: &CopiedEvent) -> Result<(), HistoriesError> {
        self.written.events += 1;
        let CopiedEvent { event_id, text, .. } = event;
        self.lines.raw_line(&RawEvent::new(*event_id, text.clone(), String::new()))
    }

    /// Writes the last line of an instance; returns what was written.
    pub(super) fn end(&mut self) -> Result<InstanceEnd, HistoriesError> {
        let end = self.written.clone();
        self.lines.line(&Line::InstanceEnd(end.clone()))?;
        Ok(end)
    }
}
