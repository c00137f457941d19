//! One execution: the code, its schedules, and the events that it has seen.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::actions::Outgoing;
use super::cancel_request::CancelRequests;
use super::inputs::IgnoredInputs;
use super::ledger::Ledger;
use super::mending::is_mending;
use super::roles::Role;
use super::turn::{AnsweredCall, Parent, Setup, Turn};
use super::verify::Mismatch;
use super::waker::EngineWaker;
use crate::context::OrchestrationContext;
use crate::context::handler::{Code, start_code};
use crate::context::orchestration::Identity;
use crate::context::rules::Rules;
use crate::limits::{EVENTS_PER_EXECUTION_MAX, POLLS_PER_SETTLE_MAX};
use crate::model::edit::{is_given_change, is_of_edit};
use crate::model::mended::{HeldSignal, Lineage};
use crate::model::stored_attribute::is_attribute_key;
use crate::model::{
    AppErrorKind, ErrorDetails, Event, EventKind, INITIAL_EXECUTION_ID, PatchMarker, PatchState,
    WorkItem,
};
use crate::panics;

/// A replayable execution. Feed it recorded events, then advance it with messages.
pub struct Execution {
    pub(super) ctx: OrchestrationContext,
    pub(super) ledger: Ledger,
    pub(super) parent: Option<Parent>,
    pub(super) ignored_inputs: Arc<IgnoredInputs>,
    pub(super) event_id_next: u64,
    /// How the code ended; `None` while it runs.
    pub(super) end: Option<End>,
    /// The last event is recorded; later turns change nothing.
    pub(super) over: bool,
    /// The fault that ended the code is a difference between code and history.
    pub(super) disagrees: bool,
    /// First recorded reason to cancel.
    pub(super) cancel_reason: Option<String>,
    /// Requests to end that the code may answer.
    pub(super) cancel_requests: CancelRequests,
    /// The executions that made the kept calls, if this one was mended.
    pub(super) lineage: Lineage,
    /// Signals of a mended execution that wait for their waits.
    pub(super) held_signals: Vec<HeldSignal>,
    /// First decision to continue as new: input and version.
    pub(super) continue_as_new: Option<(String, Option<String>)>,
    /// An event that can wake the code was fed since the last poll.
    pub(super) must_poll: bool,
    pub(super) waker: Arc<EngineWaker>,
    pub(super) now_ms: u64,
    /// Events of the current turn.
    pub(super) fresh: Vec<Event>,
    /// The messages that carry out what the code asked for in the current turn.
    pub(super) outgoing: Vec<Outgoing>,
    /// Schedule-to-start limits of activities among them, by the ids of the schedules.
    pub(super) start_limits: Vec<(u64, Duration)>,
    /// Calls of children that have their answer in the current turn.
    pub(super) answered_calls: Vec<AnsweredCall>,
    /// What history and code disagree about, for a check that asks for it.
    pub(super) mismatch: Option<Box<Mismatch>>,
    /// Turns so far. History does not record where a turn ends; see [`begins_turn`].
    turns: u64,
    code: Option<Code>,
}

/// How the code ended.
#[derive(Debug)]
pub(super) enum End {
    Returned(Result<String, String>),
    Fault(ErrorDetails),
}

/// The facts of a start event.
struct Start {
    identity: Identity,
    input: String,
    custom_status: Option<String>,
    pin: String,
}

impl Execution {
    /// A new execution, whose first turn records `start`.
    pub fn begin(setup: Setup, start: Event) -> Result<Self, ErrorDetails> {
        let mut execution = Self::with_start(setup, &start)?;
        execution.ctx.shared.state().replaying = false;
        execution.event_id_next = start.event_id + 1;
        execution.fresh.push(start);
        Ok(execution)
    }

    /// An execution as its recorded history left it.
    pub fn open(setup: Setup, history: &[Event]) -> Result<Self, ErrorDetails> {
        let Some(start) = history.first() else {
            return Err(ErrorDetails::nondeterminism("corrupted history: empty"));
        };
        let mut execution = Self::with_start(setup, start)?;
        execution.replay(history);
        Ok(execution)
    }

    pub(super) fn with_start(setup: Setup, start: &Event) -> Result<Self, ErrorDetails> {
        let Some(facts) = Start::of(start) else {
            return Err(ErrorDetails::nondeterminism(
                "corrupted history: first event must be OrchestrationStarted",
            ));
        };
        let rules = Rules::pinned(&facts.identity.instance_id, &facts.pin).map_err(|refusal| {
            ErrorDetails::nondeterminism(format!("unsupported history: {refusal}"))
        })?;
        let ctx = OrchestrationContext::with_rules(facts.identity, rules);
        {
            let mut state = ctx.shared.state();
            state.custom_status = facts.custom_status;
            state.count_delivered(facts.input.len());
            let first = start.execution_id == INITIAL_EXECUTION_ID;
            if !(rules.keys_mixed && first) {
                state.kv.load(setup.kv_snapshot);
            }
        }
        Ok(Self {
            code: Some(start_code(setup.handler, ctx.clone(), facts.input)),
            ctx,
            ledger: Ledger::default(),
            parent: setup.parent,
            ignored_inputs: setup.ignored_inputs,
            event_id_next: start.event_id,
            end: None,
            over: false,
            disagrees: false,
            cancel_reason: None,
            cancel_requests: CancelRequests::default(),
            lineage: Lineage::default(),
            held_signals: Vec::new(),
            continue_as_new: None,
            must_poll: true,
            waker: Arc::new(EngineWaker::new(setup.on_foreign_wake)),
            now_ms: start.timestamp_ms,
            fresh: Vec::new(),
            outgoing: Vec::new(),
            start_limits: Vec::new(),
            answered_calls: Vec::new(),
            turns: 0,
            mismatch: None,
        })
    }

    /// Feeds events that are already stored.
    pub fn replay(&mut self, recorded: &[Event]) {
        let waker = Arc::clone(&self.waker);
        let _running = waker.enter();
        self.prepare_replay(recorded);
        let mut previous = None;
        for event in recorded {
            self.turns += u64::from(begins_turn(event, previous));
            previous = Some(event);
            self.number(event);
            self.feed(event);
        }
        // Behind kept events, the code runs in a new turn.
        if !recorded.last().is_some_and(is_mending) {
            self.settle();
        }
    }

    /// Takes the number of a recorded event; a number that cannot follow is a fault.
    pub(super) fn number(&mut self, event: &Event) {
        if event.event_id < self.event_id_next || event.event_id > EVENTS_PER_EXECUTION_MAX {
            self.fault(format!(
                "corrupted history: event {} follows event {}",
                event.event_id,
                self.event_id_next.saturating_sub(1)
            ));
        } else {
            self.event_id_next = event.event_id + 1;
        }
    }

    pub(super) fn prepare_replay(&mut self, recorded: &[Event]) {
        if let Some(last) = recorded.last() {
            self.now_ms = last.timestamp_ms;
        }
        let mut state = self.ctx.shared.state();
        state.replaying = true;
        state.now_ms = self.now_ms;
        for event in recorded {
            if let EventKind::KeyValueSet { key, last_updated_at_ms, .. } = &event.kind {
                // Attributes have no age that code could ask for, and edits bring their own.
                if !is_attribute_key(key) && !is_given_change(event) {
                    state.kv.expect_write_at(*last_updated_at_ms);
                }
            } else if let Some(marker) = PatchMarker::of(event) {
                state.patches.note_recorded(marker.id);
            }
        }
    }

    /// Takes one turn: turns messages into events, runs the code and returns what to commit. After
    /// the last event, turns change nothing.
    pub fn advance(&mut self, messages: Vec<WorkItem>, now_ms: u64) -> Turn {
        if self.over {
            return Turn::unchanged();
        }
        let waker = Arc::clone(&self.waker);
        let _running = waker.enter();
        self.now_ms = now_ms;
        self.turns += 1;
        {
            let mut state = self.ctx.shared.state();
            state.replaying = false;
            state.now_ms = now_ms;
            state.kv.forget_recorded_times();
        }
        self.stage(messages);
        let inbox_end = self.event_id_next;
        let inbox = std::mem::take(&mut self.fresh);
        for event in &inbox {
            self.feed(event);
        }
        self.fresh = inbox;
        self.record_asked();
        self.deliver_held_signals();
        self.finish(inbox_end)
    }

    /// Polls the code until no wake-up is left.
    pub(super) fn settle(&mut self) {
        let wake_driven = self.ctx.shared.state().rules.wake_driven;
        for _poll in 0..POLLS_PER_SETTLE_MAX {
            let woken = wake_driven && self.waker.is_woken();
            if self.end.is_some() || !(self.must_poll || woken) {
                return;
            }
            self.must_poll = false;
            self.waker.take_woken();
            self.poll_once();
            if !wake_driven {
                return;
            }
        }
        self.fault(format!(
            "orchestration '{}' keeps waking itself and was stopped after \
             {POLLS_PER_SETTLE_MAX} polls without an event",
            self.ctx.shared.orchestration_name
        ));
    }

    fn poll_once(&mut self) {
        let Some(code) = &mut self.code else { return };
        let waker = Waker::from(Arc::clone(&self.waker));
        let mut cx = Context::from_waker(&waker);
        match catch_unwind(AssertUnwindSafe(|| code.as_mut().poll(&mut cx))) {
            Ok(Poll::Pending) => {}
            Ok(Poll::Ready(output)) => {
                self.end = Some(End::Returned(output));
                self.drop_code();
            }
            Err(payload) => {
                self.end = Some(End::Fault(panicked(payload.as_ref())));
                panics::discard(payload);
                self.drop_code();
            }
        }
        let mut state = self.ctx.shared.state();
        for id in std::mem::take(&mut state.read_subscriptions) {
            self.ledger.close(id);
        }
    }

    /// Ends the execution because of a fault that other code would not mend. The first one counts.
    pub(super) fn fault(&mut self, message: String) {
        if !matches!(self.end, Some(End::Fault(_))) {
            self.end = Some(End::Fault(ErrorDetails::nondeterminism(message)));
        }
    }

    /// Ends the execution because the code asks for something else than the history records. The
    /// first fault counts.
    pub(super) fn disagree(&mut self, message: String) {
        if !matches!(self.end, Some(End::Fault(_))) {
            self.disagrees = true;
            self.fault(message);
        }
    }

    /// Whether the last turn failed because code and history disagree: other code may go on.
    pub fn disagrees(&self) -> bool {
        self.disagrees
    }

    /// Drops the code. Futures that it still holds do not count as dropped by the code, and a panic
    /// in a destructor must not reach the dispatcher.
    fn drop_code(&mut self) {
        self.ctx.shared.state().closing = true;
        let code = self.code.take();
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(code))) {
            tracing::warn!(
                target: "duroxide::runtime",
                instance_id = %self.ctx.shared.instance_id,
                panic = %panic_text(payload.as_ref()),
                "orchestration panicked while it was being dropped"
            );
            panics::discard(payload);
        }
    }

    /// Id of the last event that was fed.
    pub fn last_event_id(&self) -> u64 {
        self.event_id_next.saturating_sub(1)
    }

    /// Number of the execution.
    pub fn execution_id(&self) -> u64 {
        self.ctx.shared.execution_id
    }

    /// Registered name of the code.
    pub fn orchestration_name(&self) -> &str {
        &self.ctx.shared.orchestration_name
    }

    /// Version of the code.
    pub fn orchestration_version(&self) -> &str {
        &self.ctx.shared.orchestration_version
    }

    /// Turns so far, as far as history shows.
    pub fn turns(&self) -> u64 {
        self.turns
    }

    /// The patches that the code has called for so far, and those that history contains.
    pub fn patches(&self) -> BTreeMap<String, PatchState> {
        self.ctx.shared.state().patches.states()
    }

    /// Bytes of the input and of all results, signals and messages that the code received. It may
    /// hold them, or have dropped them.
    pub fn delivered_bytes(&self) -> usize {
        self.ctx.shared.state().delivered_bytes()
    }

    /// Rough memory use without what the code received, for the bound of the warm cache.
    pub fn bytes(&self) -> usize {
        let code = self.code.as_ref().map_or(0, |code| size_of_val(&**code));
        size_of::<Self>() + code + self.ledger.bytes() + self.ctx.shared.state().bytes()
    }
}

impl Drop for Execution {
    fn drop(&mut self) {
        // Destructors of user code may wake futures that are dropped with it.
        self.waker.close();
        self.drop_code();
    }
}

impl std::fmt::Debug for Execution {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Execution")
            .field("ctx", &self.ctx)
            .field("event_id_next", &self.event_id_next)
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

impl Start {
    fn of(event: &Event) -> Option<Self> {
        let EventKind::OrchestrationStarted { name, version, input, initial_custom_status, .. } =
            &event.kind
        else {
            return None;
        };
        Some(Self {
            identity: Identity {
                instance_id: event.instance_id.clone(),
                execution_id: event.execution_id,
                orchestration_name: name.clone(),
                orchestration_version: version.clone(),
            },
            input: input.clone(),
            custom_status: initial_custom_status.clone(),
            pin: event.duroxide_version.clone(),
        })
    }
}

/// Whether a recorded event is the first of a turn: turns begin with messages and have one
/// timestamp.
fn begins_turn(event: &Event, previous: Option<&Event>) -> bool {
    let is_message = |event: &Event| {
        Role::of(&event.kind).is_message() || is_given_change(event) || is_of_edit(event)
    };
    let continues =
        previous.is_some_and(|last| is_message(last) && last.timestamp_ms == event.timestamp_ms);
    is_message(event) && !continues
}

fn panicked(payload: &(dyn std::any::Any + Send)) -> ErrorDetails {
    ErrorDetails::Application {
        kind: AppErrorKind::Panicked,
        message: panic_text(payload),
        retryable: false,
    }
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    panics::text(payload).unwrap_or_else(|| "orchestration panicked".to_owned())
}
