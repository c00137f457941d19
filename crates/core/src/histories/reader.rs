//! Reads histories, one execution at a time.

use std::io::BufRead;

use super::format::{ExecutionFacts, ExecutionLine, FileLine, HISTORIES_FORMAT, HistoriesError};
use super::recorded::RecordedHistory;
use crate::model::Event;

/// Reads histories from JSON lines. It holds the lines of one execution in memory.
#[derive(Debug)]
pub struct HistoryReader<R> {
    place: String,
    input: R,
    /// The number of the last line.
    line: usize,
}

/// The lines of one execution, before they are decoded.
#[derive(Debug)]
pub struct RawHistory {
    place: String,
    facts: ExecutionFacts,
    /// The number of the first event's line.
    line: usize,
    events: Vec<String>,
}

impl<R: BufRead> HistoryReader<R> {
    /// Reads the first line. `place` names the input in errors.
    ///
    /// # Errors
    /// When the input fails, or is not a file of histories that this build can read.
    pub fn new(place: impl Into<String>, input: R) -> Result<Self, HistoriesError> {
        let mut reader = Self { place: place.into(), input, line: 0 };
        let Some(text) = reader.next_line()? else {
            return Err(reader.wrong("the file is empty".to_owned()));
        };
        let first: FileLine = serde_json::from_str(&text)
            .map_err(|error| reader.wrong(format!("not a file of histories: {error}")))?;
        match first.duroxide_histories {
            0 => Err(reader.wrong("format 0 does not exist".to_owned())),
            1..=HISTORIES_FORMAT => Ok(reader),
            found => Err(HistoriesError::NewerFormat { place: reader.place, found }),
        }
    }

    /// The lines of the next execution; `None` at the end of the input.
    ///
    /// # Errors
    /// When the input fails, or ends within an execution.
    pub fn next_raw(&mut self) -> Result<Option<RawHistory>, HistoriesError> {
        let Some(text) = self.next_line()? else { return Ok(None) };
        let ExecutionLine { execution: facts } = serde_json::from_str(&text)
            .map_err(|error| self.wrong(format!("not the beginning of an execution: {error}")))?;
        let line = self.line + 1;
        let mut events = Vec::new();
        while events.len() < facts.events {
            let Some(event) = self.next_line()? else {
                return Err(self.wrong(format!(
                    "the file ends within execution {} of '{}': {} of its {} events are missing",
                    facts.execution_id,
                    facts.instance,
                    facts.events - events.len(),
                    facts.events
                )));
            };
            events.push(event);
        }
        Ok(Some(RawHistory { place: self.place.clone(), facts, line, events }))
    }

    /// The next line that is not blank.
    fn next_line(&mut self) -> Result<Option<String>, HistoriesError> {
        loop {
            let mut text = String::new();
            let read = self.input.read_line(&mut text);
            if read.map_err(|error| HistoriesError::io(&self.place, error))? == 0 {
                return Ok(None);
            }
            self.line += 1;
            if !text.trim().is_empty() {
                return Ok(Some(text));
            }
        }
    }

    fn wrong(&self, message: String) -> HistoriesError {
        HistoriesError::Line { place: self.place.clone(), line: self.line, message }
    }
}

impl RawHistory {
    /// The instance.
    pub fn instance_id(&self) -> &str {
        &self.facts.instance
    }

    /// The number of the execution.
    pub fn execution_id(&self) -> u64 {
        self.facts.execution_id
    }

    /// Decodes the events.
    ///
    /// # Errors
    /// When an event is of a kind that this build does not know, or is damaged.
    pub fn decode(&self) -> Result<RecordedHistory, HistoriesError> {
        let Self { place, facts, line, events } = self;
        let mut decoded = Vec::with_capacity(events.len());
        for (index, text) in events.iter().enumerate() {
            let event: Event = serde_json::from_str(text).map_err(|error| {
                let message = format!("event {} cannot be decoded: {error}", index + 1);
                HistoriesError::Line { place: place.clone(), line: line + index, message }
            })?;
            decoded.push(event);
        }
        let history = RecordedHistory::new(&facts.instance, facts.execution_id, decoded);
        Ok(history.with_kv(facts.kv.clone()))
    }

    /// The first event, if it can be decoded.
    pub fn start(&self) -> Option<Event> {
        serde_json::from_str(self.events.first()?).ok()
    }
}
