//! Reads whole instances, one at a time.

use std::io::{BufRead, ErrorKind, Read};

use serde::Deserialize;

use super::error::TransferError;
use super::lines::{ExportedExecution, InstanceEnd, InstanceFacts, Line};
use crate::histories::{DamagedEvent, HISTORIES_FORMAT, HistoriesError};
use crate::limits::IMPORTED_LINE_BYTES_MAX;
use crate::providers::{CopiedEvent, CopiedKey, InstanceCopy, InstanceHead};

/// Reads instances from JSON lines. It holds one instance in memory.
#[derive(Debug)]
pub struct InstanceReader<R> {
    place: String,
    input: R,
    /// The number of the last line.
    line: usize,
}

/// An instance that was read from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadInstance {
    /// All of it.
    pub copy: InstanceCopy,
    /// It was read while it ran, so that it cannot be imported unless it had ended.
    pub is_snapshot: bool,
    /// The file.
    pub place: String,
    /// The number of its first line.
    pub line: usize,
}

#[derive(Deserialize)]
struct FirstLine {
    duroxide_histories: u32,
}

/// What every line of an event has.
#[derive(Deserialize)]
struct EventLine {
    event_id: Option<u64>,
    damaged_event: Option<DamagedEvent>,
}

impl<R: BufRead> InstanceReader<R> {
    /// Reads the first line. `place` names the input in errors.
    ///
    /// # Errors
    /// When the input fails, or is not a file of instances that this build can read.
    pub fn new(place: impl Into<String>, input: R) -> Result<Self, TransferError> {
        let mut reader = Self { place: place.into(), input, line: 0 };
        let Some(text) = reader.next_line()? else {
            return Err(reader.wrong("the file is empty".to_owned()));
        };
        let first: FirstLine = serde_json::from_str(&text)
            .map_err(|error| reader.wrong(format!("not a file of instances: {error}")))?;
        match first.duroxide_histories {
            0 => Err(reader.wrong("format 0 does not exist".to_owned())),
            found if found > HISTORIES_FORMAT => {
                Err(HistoriesError::NewerFormat { place: reader.place, found }.into())
            }
            1 => Err(reader.wrong(
                "the file has histories alone, which cannot be imported: `duroxide export` and \
                 `InstanceWriter` write whole instances"
                    .to_owned(),
            )),
            _ => Ok(reader),
        }
    }

    /// The next instance; `None` at the end of the input.
    ///
    /// # Errors
    /// When the input fails, ends within an instance, or a line is damaged. The error names the
    /// line.
    pub fn next_instance(&mut self) -> Result<Option<ReadInstance>, TransferError> {
        let Some(text) = self.next_line()? else { return Ok(None) };
        let line = self.line;
        let Line::Instance(facts) = self.parse(&text)? else {
            return Err(self.wrong("not the beginning of an instance".to_owned()));
        };
        let InstanceFacts { id, head, snapshot } = *facts;
        if id.is_empty() {
            return Err(self.wrong("the instance has no id".to_owned()));
        }
        let mut copy = InstanceCopy::new(id);
        copy.head = head;
        loop {
            let Some(text) = self.next_line()? else {
                let id = &copy.instance;
                return Err(self.wrong(format!("the file ends within instance '{id}'")));
            };
            match self.parse(&text)? {
                Line::Instance(_) => {
                    let id = &copy.instance;
                    return Err(self.wrong(format!("the last line of instance '{id}' is missing")));
                }
                Line::Execution(execution) => self.read_execution(&mut copy, *execution)?,
                Line::Key(key) if key.value.is_none() && !key.is_current => {
                    return Err(self.wrong(format!("key '{}' has no value", key.key)));
                }
                Line::Key(key) if is_there(&copy, &key) => {
                    return Err(self.wrong(format!("key '{}' is there twice", key.key)));
                }
                Line::Key(key) => copy.keys.push(key),
                Line::MessageId(id) => copy.message_ids.push(id),
                Line::Activity(activity) => copy.activities.push(*activity),
                Line::Message(message) => copy.messages.push(message),
                Line::InstanceEnd(end) => {
                    self.check_end(&copy, &end)?;
                    let (place, is_snapshot) = (self.place.clone(), snapshot);
                    return Ok(Some(ReadInstance { copy, is_snapshot, place, line }));
                }
            }
        }
    }

    fn read_execution(
        &mut self,
        copy: &mut InstanceCopy,
        execution: ExportedExecution,
    ) -> Result<(), TransferError> {
        let ExportedExecution { facts, mut state } = execution;
        let id = &copy.instance;
        if facts.instance != *id {
            let text = format!("an execution of '{}' within instance '{id}'", facts.instance);
            return Err(self.wrong(text));
        }
        let last = copy.executions.last().map_or(0, |it| it.execution_id);
        if facts.execution_id <= last {
            let text = format!("execution {} comes after execution {last}", facts.execution_id);
            return Err(self.wrong(text));
        }
        state.execution_id = facts.execution_id;
        state.events = facts.events as u64;
        copy.executions.push(state);
        let mut last = 0;
        for missing in (1..=facts.events).rev() {
            let Some(text) = self.next_line()? else {
                return Err(self.wrong(format!(
                    "the file ends within execution {} of '{}': {missing} of its {} events are \
                     missing",
                    facts.execution_id, facts.instance, facts.events
                )));
            };
            let event = self.event(facts.execution_id, text)?;
            if event.event_id <= last {
                let text = format!("event {} comes after event {last}", event.event_id);
                return Err(self.wrong(text));
            }
            last = event.event_id;
            copy.events.push(event);
        }
        Ok(())
    }

    fn event(&self, execution_id: u64, text: String) -> Result<CopiedEvent, TransferError> {
        let EventLine { event_id, damaged_event } = serde_json::from_str(&text)
            .map_err(|error| self.wrong(format!("not an event: {error}")))?;
        match (damaged_event, event_id) {
            (Some(DamagedEvent { event_id, text, .. }), _) => {
                Ok(CopiedEvent::new(execution_id, event_id, text))
            }
            (None, Some(event_id)) => {
                Ok(CopiedEvent::new(execution_id, event_id, text.trim().to_owned()))
            }
            (None, None) => Err(self.wrong("an event without its number".to_owned())),
        }
    }

    fn check_end(&self, copy: &InstanceCopy, end: &InstanceEnd) -> Result<(), TransferError> {
        let found = InstanceEnd {
            id: copy.instance.clone(),
            executions: copy.executions.len() as u64,
            events: copy.events.len() as u64,
            keys: copy.keys.len() as u64,
            message_ids: copy.message_ids.len() as u64,
            activities: copy.activities.len() as u64,
            messages: copy.messages.len() as u64,
        };
        if found != *end {
            let id = &copy.instance;
            return Err(self.wrong(format!("lines of instance '{id}' are missing or doubled")));
        }
        let is_current = |head: &InstanceHead| {
            copy.executions.iter().any(|it| it.execution_id == head.current_execution_id)
        };
        match &copy.head {
            Some(head) if !is_current(head) => {
                let (id, current) = (&copy.instance, head.current_execution_id);
                Err(self.wrong(format!("instance '{id}' lacks its current execution {current}")))
            }
            Some(_) => Ok(()),
            None if copy.executions.is_empty() && copy.keys.is_empty() => Ok(()),
            None => {
                let id = &copy.instance;
                Err(self.wrong(format!("instance '{id}' has executions or keys and no head")))
            }
        }
    }

    fn parse(&self, text: &str) -> Result<Line, TransferError> {
        match Line::parse(text) {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(self.wrong("not a line of an instance: no known key".to_owned())),
            Err(error) => Err(self.wrong(format!("not a line of an instance: {error}"))),
        }
    }

    /// The next line that is not blank.
    fn next_line(&mut self) -> Result<Option<String>, TransferError> {
        loop {
            let mut text = String::new();
            let mut bounded = self.input.by_ref().take(IMPORTED_LINE_BYTES_MAX);
            let read = bounded.read_line(&mut text);
            self.line += 1;
            match read {
                Ok(0) => {
                    self.line -= 1;
                    return Ok(None);
                }
                Ok(_) if text.len() as u64 >= IMPORTED_LINE_BYTES_MAX => {
                    return Err(self.wrong("the line is too long".to_owned()));
                }
                Ok(_) if text.trim().is_empty() => {}
                Ok(_) => return Ok(Some(text)),
                Err(error) if error.kind() == ErrorKind::InvalidData => {
                    return Err(self.wrong(error.to_string()));
                }
                Err(error) => return Err(HistoriesError::io(&self.place, error).into()),
            }
        }
    }

    fn wrong(&self, message: String) -> TransferError {
        HistoriesError::Line { place: self.place.clone(), line: self.line, message }.into()
    }
}

fn is_there(copy: &InstanceCopy, key: &CopiedKey) -> bool {
    copy.keys.iter().any(|it| it.key == key.key && it.is_current == key.is_current)
}
