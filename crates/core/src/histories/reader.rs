//! Reads histories, one execution at a time.

use std::io::BufRead;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::format::{
    DamagedEvent, DamagedLine, ExecutionFacts, ExecutionLine, FileLine, HISTORIES_ALONE,
    HISTORIES_FORMAT, HistoriesError,
};
use super::recorded::RecordedHistory;
use super::undecodable::describe;
use crate::model::Event;
use crate::providers::RawEvent;

/// Reads histories from JSON lines. It holds the lines of one execution in memory.
#[derive(Debug)]
pub struct HistoryReader<R> {
    place: String,
    input: R,
    /// The number of the last line.
    line: usize,
    /// The file has whole instances.
    has_instances: bool,
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
        let mut reader = Self { place: place.into(), input, line: 0, has_instances: false };
        let Some(text) = reader.next_line()? else {
            return Err(reader.wrong("the file is empty".to_owned()));
        };
        let first: FileLine = serde_json::from_str(&text)
            .map_err(|error| reader.wrong(format!("not a file of histories: {error}")))?;
        reader.check(&first)?;
        Ok(reader)
    }

    fn check(&mut self, first: &FileLine) -> Result<(), HistoriesError> {
        match first.duroxide_histories {
            0 => Err(self.wrong("format 0 does not exist".to_owned())),
            found @ 1..=HISTORIES_FORMAT => {
                self.has_instances = found > HISTORIES_ALONE;
                Ok(())
            }
            found => Err(HistoriesError::NewerFormat { place: self.place.clone(), found }),
        }
    }

    /// The lines of the next execution; `None` at the end of the input.
    ///
    /// # Errors
    /// When the input fails, or ends within an execution.
    pub fn next_raw(&mut self) -> Result<Option<RawHistory>, HistoriesError> {
        let facts = loop {
            let Some(text) = self.next_line()? else { return Ok(None) };
            if self.has_instances && NoHistory::is(&text) {
                continue;
            }
            // Files may be joined, as an archive does.
            if let Ok(first) = serde_json::from_str::<FileLine>(&text) {
                self.check(&first)?;
                continue;
            }
            let line: ExecutionLine = serde_json::from_str(&text).map_err(|error| {
                self.wrong(format!("not the beginning of an execution: {error}"))
            })?;
            break line.execution;
        };
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

/// The keys of lines that describe an instance and are not part of its histories.
#[derive(Deserialize)]
struct NoHistory {
    instance: Option<IgnoredAny>,
    key: Option<IgnoredAny>,
    message_id: Option<IgnoredAny>,
    activity: Option<IgnoredAny>,
    message: Option<IgnoredAny>,
    instance_end: Option<IgnoredAny>,
}

impl NoHistory {
    fn is(text: &str) -> bool {
        serde_json::from_str(text).is_ok_and(|keys: Self| {
            let Self { instance, key, message_id, activity, message, instance_end } = keys;
            [instance, key, message_id, activity, message, instance_end].iter().any(Option::is_some)
        })
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
            let event = serde_json::from_str::<Event>(text);
            decoded.push(event.map_err(|error| HistoriesError::Line {
                place: place.clone(),
                line: line + index,
                message: undecodable(index as u64 + 1, text, &error),
            })?);
        }
        let history = RecordedHistory::new(&facts.instance, facts.execution_id, decoded);
        Ok(history.with_kv(facts.kv.clone()))
    }

    /// The first event, if it can be decoded.
    pub fn start(&self) -> Option<Event> {
        serde_json::from_str(self.events.first()?).ok()
    }
}

/// Which event of a history a line is, and why it cannot be decoded.
fn undecodable(place: u64, text: &str, error: &serde_json::Error) -> String {
    if let Ok(DamagedLine { damaged_event }) = serde_json::from_str(text) {
        let DamagedEvent { event_id, text, error } = damaged_event;
        return describe(&RawEvent::new(event_id, text, error));
    }
    describe(&RawEvent::new(place, text.to_owned(), error.to_string()))
}
