//! The execution under test, kept between turns in each way that a runtime may use.

use std::collections::HashMap;
use std::sync::Arc;

use duroxide_core::engine::{Execution, Parent, Setup, Turn};
use duroxide_core::providers::KvEntry;
use duroxide_core::{Event, EventKind, WorkItem};

use super::program::{Block, Interpreter, Log};
use crate::notation::INSTANCE;

/// One turn's input; the same for every subject.
#[derive(Debug, Clone)]
pub(crate) struct Batch {
    /// Set in the first turn of an execution.
    pub(crate) start: Option<StartData>,
    pub(crate) messages: Vec<WorkItem>,
    pub(crate) now_ms: u64,
}

/// The data that a new execution starts with.
#[derive(Debug, Clone)]
pub(crate) struct StartData {
    pub(crate) execution_id: u64,
    pub(crate) input: String,
    pub(crate) custom_status: Option<String>,
    pub(crate) kv: HashMap<String, KvEntry>,
}

/// How a subject gets from one turn to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// In memory.
    Warm,
    /// From its history, before every turn.
    Cold,
    /// In memory, but every turn is lost once before its commit and runs again from storage.
    Crashing,
    /// In memory for two turns, then evicted.
    Evicting,
}

pub(crate) struct Subject {
    program: Block,
    pin: String,
    keeping: Keeping,
    /// Logs of the executions so far.
    pub(crate) logs: Vec<Log>,
    start_data: Option<StartData>,
    pub(crate) history: Vec<Event>,
    execution: Option<Execution>,
    turns: u64,
    /// Turns of the code before its patches.
    turns_unpatched: u64,
    has_patches: bool,
}

impl Subject {
    pub(crate) fn new(program: Block, pin: &str, keeping: Keeping) -> Self {
        Self {
            program,
            pin: pin.to_owned(),
            keeping,
            logs: Vec::new(),
            start_data: None,
            history: Vec::new(),
            execution: None,
            turns: 0,
            turns_unpatched: 0,
            has_patches: true,
        }
    }

    /// Patches the code after this many turns.
    pub(crate) fn patched_after(mut self, turns: u64) -> Self {
        self.turns_unpatched = turns;
        self
    }

    pub(crate) fn run_turn(&mut self, batch: &Batch) -> Turn {
        self.has_patches = self.turns >= self.turns_unpatched;
        if self.turns == self.turns_unpatched {
            self.execution = None;
        }
        if let Some(start) = &batch.start {
            self.start_data = Some(start.clone());
            self.history.clear();
            self.execution = None;
            self.logs.push(Log::default());
        }
        if self.keeping == Keeping::Crashing {
            self.open(batch);
            let lost = self.advance(batch);
            drop(lost);
            self.execution = None;
        }
        self.turns += 1;
        if self.keeping == Keeping::Cold
            || (self.keeping == Keeping::Evicting && self.turns.is_multiple_of(2))
        {
            self.execution = None;
        }
        self.open(batch);
        let turn = self.advance(batch);
        self.history.extend(turn.events.iter().cloned());
        turn
    }

    fn advance(&mut self, batch: &Batch) -> Turn {
        let execution = self.execution.as_mut().expect("opened before");
        execution.advance(batch.messages.clone(), batch.now_ms)
    }

    fn open(&mut self, batch: &Batch) {
        if self.execution.is_some() {
            return;
        }
        let opened = if self.history.is_empty() {
            Execution::begin(self.setup(), self.start(batch.now_ms))
        } else {
            Execution::open(self.setup(), &self.history)
        };
        self.execution = Some(opened.expect("the history starts with OrchestrationStarted"));
    }

    fn start_data(&self) -> &StartData {
        self.start_data.as_ref().expect("the first batch starts an execution")
    }

    /// What the current execution needs besides its history.
    pub(crate) fn setup(&self) -> Setup {
        let log = self.logs.last().expect("each execution has a log").clone();
        Setup {
            handler: Arc::new(Interpreter {
                program: self.program.clone(),
                log,
                has_patches: self.has_patches,
            }),
            kv_snapshot: self.start_data().kv.clone(),
            parent: Some(Parent { instance: "p".to_owned(), execution_id: 2, id: 9 }),
            ignored_inputs: Arc::default(),
            on_foreign_wake: Some(Arc::new(|| panic!("a program has no foreign wakes"))),
        }
    }

    fn start(&self, now_ms: u64) -> Event {
        let start = self.start_data();
        Event {
            event_id: 1,
            source_event_id: None,
            instance_id: INSTANCE.to_owned(),
            execution_id: start.execution_id,
            timestamp_ms: now_ms,
            duroxide_version: self.pin.clone(),
            kind: EventKind::OrchestrationStarted {
                name: "Program".to_owned(),
                version: "1.0.0".to_owned(),
                input: start.input.clone(),
                parent_instance: Some("p".to_owned()),
                parent_id: Some(9),
                parent_execution_id: Some(2),
                carry_forward_events: None,
                initial_custom_status: start.custom_status.clone(),
            },
        }
    }
}
