//! The state that orchestration code shares with the engine.

use std::collections::{HashMap, VecDeque};
use std::panic::Location;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::calls::Calls;
use super::cancellation::Cancellation;
use super::drops::{DropKind, Drops};
use super::kv_state::KvState;
use super::patches::Patches;
use super::rules::Rules;
use super::streams::Streams;
use crate::model::{Action, CompletionResult, ScheduleKind};

/// Schedule-to-start limits by the token of the activity. They are kept beside the actions because
/// the fields of an action are public and fixed.
pub(crate) type StartLimits = HashMap<u64, Duration>;

/// A line of orchestration code.
pub(crate) type CallSite = &'static Location<'static>;

/// The mutable state of one execution that the code can reach.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) replaying: bool,
    pub(crate) now_ms: u64,
    pub(crate) rules: Rules,
    /// Actions that are not recorded yet, in call order.
    pub(crate) emitted: VecDeque<(u64, Action)>,
    /// Limits of the activities among them.
    pub(crate) start_limits: StartLimits,
    /// Where the code called for them, by token. Only a check of recorded histories asks for it.
    pub(crate) call_sites: Option<HashMap<u64, CallSite>>,
    /// Where it called for activities and children whose futures it dropped before it polled
    /// anything. Only such a check asks for it.
    pub(crate) dropped_calls: Vec<CallSite>,
    /// The token of the call since which no durable future was polled.
    unpolled: Option<u64>,
    pub(crate) calls: Calls,
    pub(crate) waits: Streams,
    pub(crate) queues: Streams,
    pub(crate) drops: Drops,
    pub(crate) custom_status: Option<String>,
    pub(crate) kv: KvState,
    pub(crate) patches: Patches,
    pub(crate) cancellation: Cancellation,
    /// Subscriptions whose value the code has read since the engine last drained this list.
    pub(crate) read_subscriptions: Vec<u64>,
    /// The execution itself is being dropped, so dropped futures are not cancellations.
    pub(crate) closing: bool,
    token_next: u64,
    /// Bytes of the input and of all values that the code received. It may still hold them.
    delivered_bytes: usize,
}

impl State {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            replaying: true,
            now_ms: 0,
            rules,
            emitted: VecDeque::new(),
            start_limits: StartLimits::new(),
            call_sites: None,
            dropped_calls: Vec::new(),
            unpolled: None,
            calls: Calls::default(),
            waits: Streams::default(),
            queues: Streams::default(),
            drops: Drops::default(),
            custom_status: None,
            kv: KvState::default(),
            patches: Patches::default(),
            cancellation: Cancellation::default(),
            read_subscriptions: Vec::new(),
            closing: false,
            token_next: 1,
            delivered_bytes: 0,
        }
    }

    /// Returns the token of the next action.
    pub(crate) fn new_token(&mut self) -> u64 {
        let token = self.token_next;
        self.token_next += 1;
        token
    }

    /// Emits an action that has no future.
    #[track_caller]
    pub(crate) fn emit(&mut self, action: Action) {
        let token = self.new_token();
        self.note_call(token, Location::caller());
        self.emitted.push_back((token, action));
    }

    /// Emits an action under `token` whose future has this `kind`.
    pub(crate) fn emit_call(&mut self, token: u64, action: Action, kind: ScheduleKind) {
        self.emitted.push_back((token, action));
        self.calls.insert(token, kind);
    }

    /// Notes which line of the code asks for the action of `token`.
    pub(crate) fn note_call(&mut self, token: u64, site: CallSite) {
        if let Some(sites) = &mut self.call_sites {
            sites.insert(token, site);
            self.unpolled = Some(token);
        }
    }

    /// Binds an action to its recorded schedule.
    pub(crate) fn bind(&mut self, token: u64, schedule_id: u64) {
        if let Some(abandoned) = self.calls.bind(token, schedule_id) {
            self.note_drop(&abandoned.kind, schedule_id);
        }
    }

    /// Adds a positional wait to its lane.
    pub(crate) fn bind_wait(&mut self, schedule_id: u64, name: &str) {
        self.waits.bind(schedule_id, name);
    }

    /// Adds a dequeue to its lane, unless its future was dropped before it was recorded. Returns
    /// the waker to call, because a buffered message may complete it at once.
    pub(crate) fn bind_dequeue(&mut self, schedule_id: u64, name: &str) -> Option<Waker> {
        let dropped = self.drops.is_unrecorded(DropKind::Dequeue, schedule_id);
        if dropped && self.rules.early_race {
            return None;
        }
        self.queues.bind(schedule_id, name);
        let ready = self.queues.has_arrival(schedule_id);
        ready.then(|| self.take_waker(schedule_id)).flatten()
    }

    /// Polls the call of `token` for its result.
    pub(crate) fn poll(&mut self, token: u64, waker: &Waker) -> Poll<CompletionResult> {
        self.unpolled = None;
        let Some(call) = self.calls.get_mut(token) else { return Poll::Pending };
        if let Some(result) = call.result.take() {
            self.calls.remove(token);
            return Poll::Ready(result);
        }
        let streams = match &call.kind {
            ScheduleKind::ExternalWait { .. } => Some(&mut self.waits),
            ScheduleKind::QueueDequeue { .. } => Some(&mut self.queues),
            ScheduleKind::Activity { .. }
            | ScheduleKind::Timer
            | ScheduleKind::SubOrchestration { .. } => None,
        };
        if let (Some(streams), Some(schedule_id)) = (streams, call.schedule_id)
            && let Some(data) = streams.take(schedule_id)
        {
            self.delivered_bytes += data.len();
            self.read_subscriptions.push(schedule_id);
            self.calls.remove(token);
            return Poll::Ready(CompletionResult::ExternalData(data));
        }
        match &mut call.waker {
            Some(known) if known.will_wake(waker) => {}
            slot => *slot = Some(waker.clone()),
        }
        Poll::Pending
    }

    /// Stores the result of a schedule. Returns the waker to call once the lock is released.
    pub(crate) fn deliver(&mut self, schedule_id: u64, result: CompletionResult) -> Option<Waker> {
        let call = self.calls.by_schedule_mut(schedule_id)?;
        self.delivered_bytes += result_bytes(&result);
        call.result = Some(result);
        call.waker.take()
    }

    /// Delivers a positional signal if a wait is open for it. Returns whether one was, and the
    /// waker to call.
    pub(crate) fn deliver_signal(&mut self, name: String, data: String) -> (bool, Option<Waker>) {
        if !self.waits.has_open_position(&name) {
            return (false, None);
        }
        let ready = self.waits.arrive(name, data);
        (true, ready.and_then(|id| self.take_waker(id)))
    }

    /// Buffers a queue message. Returns the waker to call.
    pub(crate) fn deliver_message(&mut self, name: String, data: String) -> Option<Waker> {
        let ready = self.queues.arrive(name, data);
        ready.and_then(|id| self.take_waker(id))
    }

    /// Handles the drop of a future before it completed. Returns the waker to call.
    pub(crate) fn abandon(&mut self, token: u64) -> Option<Waker> {
        if self.closing {
            return None;
        }
        let call = self.calls.get_mut(token)?;
        let Some(schedule_id) = call.schedule_id else {
            call.abandoned = true;
            call.waker = None;
            self.note_dropped_call(token);
            return None;
        };
        let call = self.calls.remove(token)?;
        self.note_drop(&call.kind, schedule_id);
        if !self.rules.early_race {
            return None;
        }
        self.release(&call.kind, schedule_id)
    }

    /// Notes a call whose future is dropped right after it was made, if a check has asked for it.
    fn note_dropped_call(&mut self, token: u64) {
        if self.unpolled.take_if(|unpolled| *unpolled == token).is_none() {
            return;
        }
        let is_work = self.calls.get_mut(token).is_some_and(|call| match &call.kind {
            ScheduleKind::Activity { .. } | ScheduleKind::SubOrchestration { .. } => true,
            ScheduleKind::Timer
            | ScheduleKind::ExternalWait { .. }
            | ScheduleKind::QueueDequeue { .. } => false,
        });
        let site = self.call_sites.as_ref().and_then(|sites| sites.get(&token).copied());
        self.dropped_calls.extend(site.filter(|_| is_work));
    }

    fn note_drop(&mut self, kind: &ScheduleKind, schedule_id: u64) {
        if let Some(kind) = DropKind::of(kind) {
            self.drops.note(kind, schedule_id);
        }
    }

    fn release(&mut self, kind: &ScheduleKind, schedule_id: u64) -> Option<Waker> {
        let ready = match kind {
            // The signal that belongs to this wait must not reach the next one.
            ScheduleKind::ExternalWait { .. } => self.waits.cancel(schedule_id, true),
            ScheduleKind::QueueDequeue { .. } => self.queues.cancel(schedule_id, false),
            ScheduleKind::Activity { .. }
            | ScheduleKind::Timer
            | ScheduleKind::SubOrchestration { .. } => None,
        };
        ready.and_then(|id| self.take_waker(id))
    }

    /// Cancels a subscription whose breadcrumb is in history. Returns the waker to call.
    pub(crate) fn cancel_subscription(
        &mut self,
        kind: DropKind,
        schedule_id: u64,
    ) -> Option<Waker> {
        let ready = match kind {
            DropKind::Wait => self.waits.cancel(schedule_id, self.rules.early_race),
            DropKind::Dequeue => self.queues.cancel(schedule_id, false),
            DropKind::Activity | DropKind::SubOrchestration => None,
        };
        ready.and_then(|id| self.take_waker(id))
    }

    fn take_waker(&mut self, schedule_id: u64) -> Option<Waker> {
        self.calls.by_schedule_mut(schedule_id).and_then(|call| call.waker.take())
    }

    /// Counts a value that the code received.
    pub(crate) fn count_delivered(&mut self, bytes: usize) {
        self.delivered_bytes += bytes;
    }

    /// Bytes of all values that the code received. Some of them it has dropped.
    pub(crate) fn delivered_bytes(&self) -> usize {
        self.delivered_bytes
    }

    /// Approximate size in memory without what the code holds, for the bound of the warm cache.
    pub(crate) fn bytes(&self) -> usize {
        const CALL_BYTES: usize = 256;
        self.waits.bytes()
            + self.queues.bytes()
            + self.kv.bytes()
            + self.patches.bytes()
            + self.calls.len() * CALL_BYTES
            + self.custom_status.as_ref().map_or(0, String::len)
    }
}

/// Bytes of the text of a result.
fn result_bytes(result: &CompletionResult) -> usize {
    match result {
        CompletionResult::ActivityOk(text)
        | CompletionResult::ActivityErr(text)
        | CompletionResult::SubOrchOk(text)
        | CompletionResult::SubOrchErr(text)
        | CompletionResult::ExternalData(text) => text.len(),
        CompletionResult::TimerFired => 0,
    }
}
