//! Runs a case warm, cold and crashing and compares every turn with the expected one.

use std::fmt::Write;
use std::sync::Arc;

use duroxide_core::engine::{Execution, IgnoredInputs, Parent, Setup, Turn};
use duroxide_core::{Event, EventKind, WorkItem};

use super::case::{Case, Step};
use super::notation::{self, INSTANCE};
use super::render::{self, RenderedTurn};
use super::samples;

/// How an execution gets from one turn to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It stays in memory.
    Warm,
    /// It is opened from its history before every turn.
    Cold,
    /// Every turn is lost once before its commit and runs again from storage.
    Crashing,
}

/// Runs the case in every mode; the error shows what differs from the expected turns.
pub(crate) fn run(case: &Case) -> Result<(), String> {
    [Mode::Warm, Mode::Cold, Mode::Crashing].into_iter().try_for_each(|mode| check(case, mode))
}

fn check(case: &Case, mode: Mode) -> Result<(), String> {
    assert!(!case.turns.is_empty(), "{}: no turn", case.title);
    let mut run = CaseRun::new(case);
    for (number, step) in (1..).zip(&case.turns) {
        let actual = run.run_turn(step, number, mode)?;
        if !turn_matches(&step.expected, &actual) {
            return Err(format!(
                "{} ({mode:?}, turn {number})\n{}\n{}",
                case.file,
                case.text,
                side_by_side(&step.expected, &actual)
            ));
        }
    }
    Ok(())
}

/// The state of a case between turns.
struct CaseRun<'a> {
    case: &'a Case,
    sample: String,
    execution_id: u64,
    execution: Option<Execution>,
    history: Vec<Event>,
    successor: Option<WorkItem>,
}

impl<'a> CaseRun<'a> {
    fn new(case: &'a Case) -> Self {
        let execution_id = case.setting("execution").map_or(1, |id| id.parse().expect("a number"));
        let mut run = Self {
            case,
            sample: case.sample.clone(),
            execution_id,
            execution: None,
            history: Vec::new(),
            successor: None,
        };
        if !case.history.is_empty() {
            let input = case.setting("input").unwrap_or_default().to_owned();
            run.history.push(run.start(input, None, 0));
            let recorded = case.history.iter().map(|text| notation::event(text, execution_id));
            run.history.extend(recorded);
        }
        run
    }

    fn run_turn(&mut self, step: &Step, number: u64, mode: Mode) -> Result<RenderedTurn, String> {
        let now_ms = step.now_ms.unwrap_or(number * 1000);
        if let Some(code) = &step.code {
            self.sample.clone_from(code);
            self.execution = None;
        }
        let mut messages = Vec::new();
        let mut inbox = step.inbox.as_slice();
        let mut start = None;
        if inbox.first().is_some_and(|item| item == "next") {
            inbox = &inbox[1..];
            let (successor, carried) = self.successor(now_ms)?;
            (start, messages) = (Some(successor), carried);
        } else if self.history.is_empty() {
            inbox = inbox.strip_prefix(&["start".to_owned()]).unwrap_or(inbox);
            let input = self.case.setting("input").unwrap_or_default().to_owned();
            start = Some(self.start(input, None, now_ms));
        }
        messages.extend(inbox.iter().map(|text| notation::message(text, self.execution_id)));
        if mode == Mode::Crashing {
            drop(self.open(start.clone())?.advance(messages.clone(), now_ms));
        }
        if mode != Mode::Warm || start.is_some() || self.execution.is_none() {
            self.execution = Some(self.open(start)?);
        }
        let execution = self.execution.as_mut().expect("opened above");
        let turn = execution.advance(messages, now_ms);
        self.record(&turn);
        Ok(render::turn(&turn))
    }

    /// Starts with a start event, or opens the history.
    fn open(&self, start: Option<Event>) -> Result<Execution, String> {
        let opened = match start {
            Some(start) => Execution::begin(self.setup(), start),
            None => Execution::open(self.setup(), &self.history),
        };
        opened.map_err(|details| details.display_message())
    }

    fn record(&mut self, turn: &Turn) {
        self.history.extend(turn.events.iter().cloned());
        let continued = |item: &&WorkItem| matches!(item, WorkItem::ContinueAsNew { .. });
        self.successor = turn.orchestrator_items.iter().find(continued).cloned();
    }

    /// The start of the next execution, and the messages it carries, which come first.
    fn successor(&mut self, now_ms: u64) -> Result<(Event, Vec<WorkItem>), String> {
        let Some(WorkItem::ContinueAsNew {
            input,
            carry_forward_events,
            initial_custom_status,
            ..
        }) = self.successor.take()
        else {
            return Err(format!("{}: the last turn did not continue as new", self.case.title));
        };
        self.execution_id += 1;
        self.history.clear();
        let start = self.start(input, initial_custom_status, now_ms);
        let message = |(name, data)| {
            let instance = INSTANCE.to_owned();
            WorkItem::QueueMessage { instance, name, data }
        };
        Ok((start, carry_forward_events.into_iter().map(message).collect()))
    }

    fn start(&self, input: String, initial_custom_status: Option<String>, now_ms: u64) -> Event {
        Event {
            event_id: 1,
            source_event_id: None,
            instance_id: INSTANCE.to_owned(),
            execution_id: self.execution_id,
            timestamp_ms: now_ms,
            duroxide_version: self.case.setting("pin").unwrap_or("0.2.0").to_owned(),
            kind: EventKind::OrchestrationStarted {
                name: self.sample.clone(),
                version: "1.0.0".to_owned(),
                input,
                parent_instance: None,
                parent_id: None,
                parent_execution_id: None,
                carry_forward_events: None,
                initial_custom_status: initial_custom_status
                    .or_else(|| self.case.setting("status").map(str::to_owned)),
            },
        }
    }

    fn ignored_inputs(&self) -> IgnoredInputs {
        let names = |key| self.case.setting(key).into_iter().map(str::to_owned).collect();
        IgnoredInputs {
            activities: names("ignored_activity"),
            orchestrations: names("ignored_orchestration"),
        }
    }

    fn setup(&self) -> Setup {
        let kv = self.case.setting("kv").unwrap_or_default();
        Setup {
            handler: samples::find(&self.sample),
            kv_snapshot: kv.split_terminator(',').map(notation::kv_entry).collect(),
            parent: self.case.setting("parent").map(parent),
            ignored_inputs: Arc::new(self.ignored_inputs()),
            on_foreign_wake: Some(Arc::new(|| panic!("a case has no foreign wakes"))),
        }
    }
}

/// Parses `p/1/4`.
fn parent(text: &str) -> Parent {
    let mut parts = text.split('/');
    let mut next = || parts.next().expect("instance/execution/id");
    Parent {
        instance: next().to_owned(),
        execution_id: next().parse().expect("a number"),
        id: next().parse().expect("a number"),
    }
}

fn turn_matches(expected: &RenderedTurn, actual: &RenderedTurn) -> bool {
    (expected.events == ["*"] || all_match(&expected.events, &actual.events))
        && all_match(&expected.work, &actual.work)
        && all_match(&expected.out, &actual.out)
        && expected.cancelled == actual.cancelled
        && item_matches(&expected.result, &actual.result)
}

fn all_match(expected: &[String], actual: &[String]) -> bool {
    expected.len() == actual.len()
        && expected.iter().zip(actual).all(|(expected, actual)| item_matches(expected, actual))
}

/// Whether the pieces between `…` occur in order, the first one at the start.
fn item_matches(expected: &str, actual: &str) -> bool {
    let Some((front, rest)) = expected.split_once('…') else { return expected == actual };
    let Some(mut left) = actual.strip_prefix(front) else { return false };
    let open_end = expected.ends_with('…');
    for piece in rest.split('…').filter(|piece| !piece.is_empty()) {
        let Some(at) = left.find(piece) else { return false };
        left = &left[at + piece.len()..];
    }
    open_end || left.is_empty()
}

/// Shows expected and actual turn side by side, line by line.
fn side_by_side(expected: &RenderedTurn, actual: &RenderedTurn) -> String {
    let mut text = String::new();
    let mut section = |name: &str, expected: &[String], actual: &[String]| {
        for row in 0..expected.len().max(actual.len()) {
            let left = expected.get(row).map_or("-", String::as_str);
            let right = actual.get(row).map_or("-", String::as_str);
            let mark = if item_matches(left, right) || left == "*" { ' ' } else { '!' };
            writeln!(text, "{mark} {name:6} {left:48} | {right}").expect("text");
        }
    };
    section("ev", &expected.events, &actual.events);
    section("work", &expected.work, &actual.work);
    section("out", &expected.out, &actual.out);
    section("cancel", &expected.cancelled, &actual.cancelled);
    section("=", std::slice::from_ref(&expected.result), std::slice::from_ref(&actual.result));
    text
}
