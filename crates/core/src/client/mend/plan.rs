//! What mending an instance changes, as a dry run shows it and the act itself returns it.

use std::fmt;

use serde::Serialize;

use super::source::Source;
use crate::histories::RecordedHistory;
use crate::model::MendMarker;

/// What is kept of an execution, what is dropped, and what runs again.
///
/// Its text has one line for each thing.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MendPlan {
    /// The instance whose events are kept.
    pub instance: String,
    /// The execution that has them.
    pub execution_id: u64,
    /// The instance that continues: the same one, or the fork.
    pub new_instance: String,
    /// The execution that continues.
    pub new_execution_id: u64,
    /// Why the events are kept up to this point.
    pub cause: String,
    /// The last event that is kept.
    pub kept: u64,
    /// How many events are kept.
    pub events_kept: usize,
    /// The events that are not kept.
    pub dropped: Vec<DroppedEvent>,
    /// The activities that run again at once.
    pub run_again: Vec<ActivityToRun>,
    /// Results and messages that arrive again, in their order.
    pub reapplied: Vec<ReappliedEvent>,
    /// Timers that are set again, with their recorded times.
    pub timers: Vec<SetTimer>,
    /// Children that the kept events wait for, and those that are no longer wanted.
    pub children: Vec<ChildPlan>,
    /// The keys that get back the values from before the execution; `None` if it changed none.
    pub keys_restored: Option<Vec<String>>,
    /// What the operator should know.
    pub warnings: Vec<String>,
    /// The history of the new execution.
    #[serde(skip)]
    pub(super) history: RecordedHistory,
}

impl MendPlan {
    /// The history that the new execution begins with, for a check against registered code.
    pub fn history(&self) -> &RecordedHistory {
        &self.history
    }

    /// Whether the kept events continue under another id.
    pub fn is_fork(&self) -> bool {
        self.instance != self.new_instance
    }
}

/// An event that is not kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DroppedEvent {
    /// Its number.
    pub event_id: u64,
    /// Its type, or `undecodable`.
    pub kind: String,
}

/// An activity that runs again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ActivityToRun {
    /// The event that scheduled it.
    pub event_id: u64,
    /// Its name.
    pub name: String,
    /// Its failure, if it had failed; else it had not finished.
    pub failure: Option<String>,
}

/// A result or message that arrives again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ReappliedEvent {
    /// Its number before.
    pub event_id: u64,
    /// Its type.
    pub kind: String,
    /// The name of the signal or queue.
    pub name: Option<String>,
    /// The signal waits until the code waits for it.
    pub is_held: bool,
}

/// A timer that is set again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SetTimer {
    /// The event that created it.
    pub event_id: u64,
    /// When it is due, milliseconds since the Unix epoch.
    pub fire_at_ms: u64,
}

/// A child, and what happens to it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ChildPlan {
    /// The event that scheduled it.
    pub event_id: u64,
    /// Its id.
    pub instance: String,
    /// What happens to it.
    pub act: ChildAct,
}

/// What happens to a child.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ChildAct {
    /// It failed and is retried.
    Retry(Box<MendPlan>),
    /// It runs; its result is awaited.
    Wait,
    /// It has ended; its result is sent again.
    Answer,
    /// It does not exist; it is started.
    Start,
    /// No kept event waits for it; it is cancelled.
    Cancel,
    /// That depends on its state in the store, which was not read.
    Unknown,
}

impl MendPlan {
    /// The report of a call that finished what another one had left.
    pub(super) fn of_interrupted(
        source: &Source,
        marker: &MendMarker,
        events_kept: usize,
        children: Vec<ChildPlan>,
    ) -> Self {
        Self {
            instance: marker.instance.clone(),
            execution_id: marker.execution_id,
            new_instance: source.instance.clone(),
            new_execution_id: source.execution_id,
            cause: "an interrupted call had mended it; its children were left".to_owned(),
            kept: marker.kept,
            events_kept,
            dropped: Vec::new(),
            run_again: Vec::new(),
            reapplied: Vec::new(),
            timers: Vec::new(),
            children,
            keys_restored: None,
            warnings: Vec::new(),
            history: RecordedHistory::new(
                source.instance.clone(),
                source.execution_id,
                source.events.clone(),
            ),
        }
    }

    pub(super) fn fmt_indented(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let indent = "  ".repeat(depth);
        let Self { instance, execution_id, new_instance, new_execution_id, kept, .. } = self;
        match self.is_fork() {
            true => writeln!(f, "{indent}{instance} is forked as {new_instance}: {}", self.cause)?,
            false => writeln!(
                f,
                "{indent}{instance} continues as execution {new_execution_id}: {}",
                self.cause
            )?,
        }
        let kept_events = self.events_kept;
        writeln!(
            f,
            "{indent}  kept: {kept_events} events of execution {execution_id}, up to {kept}"
        )?;
        writeln!(f, "{indent}  dropped: {} events", self.dropped.len())?;
        for activity in &self.run_again {
            let why = match &activity.failure {
                Some(failure) => format!("failed: {failure}"),
                None => "had not finished".to_owned(),
            };
            let ActivityToRun { event_id, name, .. } = activity;
            writeln!(f, "{indent}  runs again: activity {name} of event {event_id}, {why}")?;
        }
        for ReappliedEvent { event_id, kind, name, is_held } in &self.reapplied {
            let name = name.as_ref().map(|name| format!(" '{name}'")).unwrap_or_default();
            let held = if *is_held { ", when the code waits for it" } else { "" };
            writeln!(f, "{indent}  arrives again: {kind}{name} of event {event_id}{held}")?;
        }
        for SetTimer { event_id, fire_at_ms } in &self.timers {
            writeln!(f, "{indent}  timer of event {event_id} is due at {fire_at_ms}")?;
        }
        if let Some(keys) = &self.keys_restored {
            let keys = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
            writeln!(f, "{indent}  keys as before execution {execution_id}: {keys}")?;
        }
        for ChildPlan { event_id, instance, act } in &self.children {
            writeln!(f, "{indent}  child {instance} of event {event_id} {}", act.text())?;
            if let ChildAct::Retry(plan) = act {
                plan.fmt_indented(f, depth + 2)?;
            }
        }
        for warning in &self.warnings {
            writeln!(f, "{indent}  note: {warning}")?;
        }
        Ok(())
    }
}

impl ChildAct {
    fn text(&self) -> &'static str {
        match self {
            Self::Retry(_) => "is retried:",
            Self::Wait => "runs and is awaited",
            Self::Answer => "has ended and answers again",
            Self::Start => "is started",
            Self::Cancel => "is no longer wanted and is cancelled",
            Self::Unknown => "depends on its state in the store",
        }
    }
}

impl fmt::Display for MendPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_indented(f, 0)
    }
}
