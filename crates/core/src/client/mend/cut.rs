//! Up to which event the history of an execution is kept.
//!
//! A turn records its messages, then what the code asked for, then dropped futures, then its end.
//! Of the turn that ends an execution only the messages can be kept: the code returns there, and a
//! replay does not match what is recorded after that. Any shorter prefix replays: the code runs up
//! to the last kept event, and what it asks for beyond that is recorded by the next turn.

use super::options::MendPoint;
use super::source::Source;
use crate::model::edit::is_of_edit;
use crate::model::mended::{HeldSignal, MendMarker};
use crate::model::patch::is_marker_name;
use crate::model::stored_attribute::is_start_attribute;
use crate::model::{AppErrorKind, CancelRequest, ErrorDetails, Event, EventKind};

/// The last event that is kept, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) kept: u64,
    pub(super) cause: Cause,
}

/// Why the history is cut there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cause {
    /// The operator chose the event.
    Chosen,
    /// This call failed, and the execution because of it.
    FailedCall { schedule: u64, text: String },
    /// The execution was cancelled or terminated.
    Cancelled,
    /// The turn failed by itself: by its code, a panic, a limit, a difference from history.
    FailedTurn { text: String },
    /// The turn never ran.
    FailedUnrun { text: String },
}

/// Why there is no such point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NoCut {
    /// The execution has not failed.
    NotFailed,
    /// The execution has no such event.
    NoEvent { last: u64 },
}

/// Part of the text of an execution that broke a limit.
const LIMIT_TEXT: &str = "exceeds limit";

impl Cut {
    /// The cut at a point.
    pub(super) fn at(source: &Source, point: MendPoint) -> Result<Self, NoCut> {
        let cutting = Cutting::of(source);
        let chosen = |kept| Ok(Self { kept, cause: Cause::Chosen });
        match point {
            MendPoint::First => chosen(cutting.first()),
            MendPoint::Event(id) if id == 0 || id > source.last_event_id() => {
                Err(NoCut::NoEvent { last: cutting.id_before(cutting.end) })
            }
            MendPoint::Event(id) => {
                chosen(id.min(cutting.id_before(cutting.end)).max(cutting.first()))
            }
            MendPoint::LastFailed => cutting.last_failed(),
        }
    }

    /// The cut of an execution for which a cancellation waits.
    pub(super) fn of_doomed(source: &Source) -> Self {
        let cutting = Cutting::of(source);
        Self { kept: cutting.id_before(cutting.end), cause: Cause::Cancelled }
    }
}

/// The events of an execution, with the place where its end begins.
struct Cutting<'a> {
    events: &'a [Event],
    /// The last of the start, its attributes, and the messages that it carries.
    floor: usize,
    /// The first event that belongs to the end.
    end: usize,
    terminal: Option<&'a Event>,
}

impl<'a> Cutting<'a> {
    fn of(source: &'a Source) -> Self {
        let events = source.events.as_slice();
        let last = events.iter().position(Event::is_terminal);
        let end = last.map_or(events.len(), |last| end_of_messages(events, last));
        // Everything after a request to cancel is part of the end.
        let is_cancel =
            |event: &Event| matches!(event.kind, EventKind::OrchestrationCancelRequested { .. });
        let end = events.iter().position(is_cancel).map_or(end, |cancel| cancel.min(end));
        let floor = behind_start(events);
        Self { events, floor, end: end.max(floor + 1), terminal: last.map(|last| &events[last]) }
    }

    fn first(&self) -> u64 {
        self.events.get(self.floor).map_or(0, Event::event_id)
    }

    /// The last event before a place, at least the start.
    fn id_before(&self, place: usize) -> u64 {
        let place = place.saturating_sub(1).max(self.floor);
        self.events.get(place).map_or(0, Event::event_id)
    }

    fn last_failed(&self) -> Result<Cut, NoCut> {
        let Some(EventKind::OrchestrationFailed { details }) = self.terminal.map(|it| &it.kind)
        else {
            return Err(NoCut::NotFailed);
        };
        let is_cancelled = self.events.get(self.end).is_some_and(|event| {
            matches!(event.kind, EventKind::OrchestrationCancelRequested { .. })
        });
        let is_request = |event: &Event| CancelRequest::of(event).is_some();
        let asked = self.events[..self.end].iter().position(is_request);
        if let Some(place) = asked.or(is_cancelled.then_some(self.end)) {
            return Ok(Cut { kept: self.id_before(place), cause: Cause::Cancelled });
        }
        if let Some(place) = self.failed_call(details) {
            let event = &self.events[place];
            let schedule = event.source_event_id.unwrap_or_default();
            let text = failure(event).map(ErrorDetails::display_message).unwrap_or_default();
            let kept = self.id_before(self.undone_with(place));
            return Ok(Cut { kept, cause: Cause::FailedCall { schedule, text } });
        }
        let text = details.display_message();
        if is_of_dispatcher(details) {
            return Ok(Cut { kept: self.id_before(self.end), cause: Cause::FailedUnrun { text } });
        }
        Ok(Cut { kept: self.id_before(self.end), cause: Cause::FailedTurn { text } })
    }

    /// The failure of a call that made the execution fail. Code may have wrapped its text, or
    /// compensated other work first.
    fn failed_call(&self, details: &ErrorDetails) -> Option<usize> {
        let failed = || {
            let places = (0..self.end).rev();
            places.filter_map(|place| Some((place, failure(&self.events[place])?)))
        };
        let equal = failed().find(|(_, failure)| *failure == details);
        let kind = match details {
            ErrorDetails::Application { kind, .. } => kind,
            ErrorDetails::Infrastructure { .. }
            | ErrorDetails::Configuration { .. }
            | ErrorDetails::Poison { .. } => return equal.map(|(place, _)| place),
        };
        let text = details.display_message();
        let quoted = failed().find(|(_, failure)| {
            let part = failure.display_message();
            !part.is_empty() && text.contains(&part)
        });
        let turn = self.last_turn();
        let in_last_turn = failed().find(|(place, _)| *place >= turn);
        let found = quoted.or(in_last_turn);
        let may_be_earlier =
            *kind == AppErrorKind::OrchestrationFailed && !text.contains(LIMIT_TEXT);
        let found = found.or_else(|| failed().next().filter(|_| may_be_earlier));
        found.map(|(place, _)| place)
    }

    /// The first of the failures that the code did nothing about before this one: they are undone
    /// together, because the code joins them.
    fn undone_with(&self, place: usize) -> usize {
        let before = self.events[..place].iter().enumerate().rev();
        let idle = before.take_while(|(_, event)| is_message(event));
        let failures = idle.filter(|(_, event)| failure(event).is_some());
        failures.last().map_or(place, |(place, _)| place)
    }

    /// Where the messages of the turn begin that ended the execution.
    fn last_turn(&self) -> usize {
        let messages = self.events[self.floor + 1..self.end].iter().rev();
        self.end - messages.take_while(|event| is_message(event)).count()
    }
}

/// The place behind the messages of the turn that ended an execution at `last`. A failure without a
/// turn has recorded nothing else.
fn end_of_messages(events: &[Event], last: usize) -> usize {
    let terminal = &events[last];
    if let EventKind::OrchestrationFailed { details } = &terminal.kind
        && is_of_dispatcher(details)
    {
        return last;
    }
    // The first turn behind kept events may have no messages. All events of a turn have one time,
    // except that up to 0.1.32 each had its own.
    let has_times = !terminal.duroxide_version.starts_with("0.1.");
    let is_of_turn = |event: &&Event| {
        let is_recent = !has_times || event.timestamp_ms == terminal.timestamp_ms;
        is_recent && !is_message(event) && !is_mending(event)
    };
    last - events[..last].iter().rev().take_while(is_of_turn).count()
}

/// Whether an event stands behind the kept events of an execution that was mended before.
fn is_mending(event: &Event) -> bool {
    MendMarker::of(event).is_some() || HeldSignal::of(event).is_some()
}

/// How many events a start brings along, which are recorded behind it: its attributes, or the
/// messages that it carries. Nothing sends them again.
fn behind_start(events: &[Event]) -> usize {
    let Some(EventKind::OrchestrationStarted { carry_forward_events, .. }) =
        events.first().map(|start| &start.kind)
    else {
        return 0;
    };
    let attributes = events.iter().skip(1).take_while(|event| is_start_attribute(event)).count();
    let carried = carry_forward_events.as_ref().map_or(0, Vec::len);
    let is_carried = |event: &&Event| matches!(event.kind, EventKind::QueueEventDelivered { .. });
    attributes + events.iter().skip(1 + attributes).take(carried).take_while(is_carried).count()
}

/// The failure that an event records, if a call failed.
fn failure(event: &Event) -> Option<&ErrorDetails> {
    let (EventKind::ActivityFailed { details } | EventKind::SubOrchestrationFailed { details }) =
        &event.kind
    else {
        return None;
    };
    Some(details)
}

/// Whether the event was a message.
pub(super) fn is_message(event: &Event) -> bool {
    if is_of_edit(event) {
        return true;
    }
    if let EventKind::ExternalEvent { name, .. } = &event.kind {
        return !is_marker_name(name);
    }
    matches!(
        event.kind,
        EventKind::OrchestrationStarted { .. }
            | EventKind::QueueEventDelivered { .. }
            | EventKind::OrchestrationCancelRequested { .. }
            | EventKind::ActivityCompleted { .. }
            | EventKind::ActivityFailed { .. }
            | EventKind::TimerFired { .. }
            | EventKind::SubOrchestrationCompleted { .. }
            | EventKind::SubOrchestrationFailed { .. }
    ) || is_start_attribute(event)
}

/// Whether the failure was recorded without running the code.
pub(super) fn is_of_dispatcher(details: &ErrorDetails) -> bool {
    match details {
        ErrorDetails::Infrastructure { .. } | ErrorDetails::Poison { .. } => true,
        ErrorDetails::Configuration { .. } => details.is_stranded(),
        ErrorDetails::Application { .. } => false,
    }
}
