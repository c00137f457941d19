//! The state that orchestration code and engine share.

use std::collections::{HashMap, VecDeque};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::calls::Calls;
use super::drops::{DropKind, Drops};
use super::kv_state::KvState;
use super::rules::Rules;
use super::streams::Streams;
use crate::model::{Action, CompletionResult, ScheduleKind};

/// Schedule-to-start limits by the token of the activity. Beside the actions, because the shape of
/// those is public.
pub(crate) type StartLimits = HashMap<u64, Duration>;

/// Everything mutable of one execution that the code can reach.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) replaying: bool,
    pub(crate) now_ms: u64,
    pub(crate) rules: Rules,
    /// Actions that are not recorded yet, in the order of the calls.
    pub(crate) emitted: VecDeque<(u64, Action)>,
    /// Limits of activities among them.
    pub(crate) start_limits: StartLimits,
    pub(crate) calls: Calls,
    pub(crate) waits: Streams,
    pub(crate) queues: Streams,
    pub(crate) drops: Drops,
    pub(crate) custom_status: Option<String>,
    pub(crate) kv: KvState,
    /// Subscriptions whose value the code has read since the engine last looked.
    pub(crate) answered: Vec<u64>,
    /// Futures dropped from now on are not cancellations: the execution itself is going away.
    pub(crate) closing: bool,
    token_next: u64,
}

impl State {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            replaying: true,
            now_ms: 0,
            rules,
            emitted: VecDeque::new(),
            start_limits: StartLimits::new(),
            calls: Calls::default(),
            waits: Streams::default(),
            queues: Streams::default(),
            drops: Drops::default(),
            custom_status: None,
            kv: KvState::default(),
            answered: Vec::new(),
            closing: false,
            token_next: 1,
        }
    }

    /// Token for the next action.
    pub(crate) fn new_token(&mut self) -> u64 {
        let token = self.token_next;
        self.token_next += 1;
        token
    }

    /// Records an action that no future stands for.
    pub(crate) fn emit(&mut self, action: Action) {
        let token = self.new_token();
        self.emitted.push_back((token, action));
    }

    /// Records an action under `token`, for which a future of `kind` is handed out.
    pub(crate) fn emit_call(&mut self, token: u64, action: Action, kind: ScheduleKind) {
        self.emitted.push_back((token, action));
        self.calls.insert(token, kind);
    }

    /// Ties an action to its recorded schedule.
    pub(crate) fn bind(&mut self, token: u64, schedule_id: u64) {
        if let Some(abandoned) = self.calls.bind(token, schedule_id) {
            self.note_drop(&abandoned.kind, schedule_id);
        }
    }

    /// Gives a positional wait its place.
    pub(crate) fn bind_wait(&mut self, schedule_id: u64, name: &str) {
        self.waits.bind(schedule_id, name);
    }

    /// Gives a dequeue its place, unless it was given up before it was recorded. Returns whom to
    /// wake: a buffered message may answer it at once.
    pub(crate) fn bind_dequeue(&mut self, schedule_id: u64, name: &str) -> Option<Waker> {
        let given_up = self.drops.is_unrecorded(DropKind::Dequeue, schedule_id);
        if given_up && self.rules.early_race {
            return None;
        }
        self.queues.bind(schedule_id, name);
        let answered = self.queues.is_answered(schedule_id);
        answered.then(|| self.take_waker(schedule_id)).flatten()
    }

    /// Result for the future of `token`, if it has one by now.
    pub(crate) fn poll(&mut self, token: u64, waker: &Waker) -> Poll<CompletionResult> {
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
            self.answered.push(schedule_id);
            self.calls.remove(token);
            return Poll::Ready(CompletionResult::ExternalData(data));
        }
        match &mut call.waker {
            Some(known) if known.will_wake(waker) => {}
            slot => *slot = Some(waker.clone()),
        }
        Poll::Pending
    }

    /// Stores the result of a schedule. Returns whom to wake, once the lock is released.
    pub(crate) fn deliver(&mut self, schedule_id: u64, result: CompletionResult) -> Option<Waker> {
        let call = self.calls.by_schedule_mut(schedule_id)?;
        call.result = Some(result);
        call.waker.take()
    }

    /// Delivers a positional signal if a wait is open for it. Returns whether it was, and whom to
    /// wake.
    pub(crate) fn deliver_signal(&mut self, name: String, data: String) -> (bool, Option<Waker>) {
        if !self.waits.has_open_position(&name) {
            return (false, None);
        }
        let answered = self.waits.arrive(name, data);
        (true, answered.and_then(|id| self.take_waker(id)))
    }

    /// Buffers a queue message. Returns whom to wake.
    pub(crate) fn deliver_message(&mut self, name: String, data: String) -> Option<Waker> {
        let answered = self.queues.arrive(name, data);
        answered.and_then(|id| self.take_waker(id))
    }

    /// The future of `token` was dropped before it yielded. Returns whom to wake.
    pub(crate) fn abandon(&mut self, token: u64) -> Vec<Waker> {
        if self.closing {
            return Vec::new();
        }
        let Some(call) = self.calls.get_mut(token) else { return Vec::new() };
        let Some(schedule_id) = call.schedule_id else {
            call.abandoned = true;
            call.waker = None;
            return Vec::new();
        };
        let Some(call) = self.calls.remove(token) else { return Vec::new() };
        self.note_drop(&call.kind, schedule_id);
        if !self.rules.early_race {
            return Vec::new();
        }
        self.release(&call.kind, schedule_id)
    }

    fn note_drop(&mut self, kind: &ScheduleKind, schedule_id: u64) {
        if let Some(kind) = DropKind::of(kind) {
            self.drops.note(kind, schedule_id);
        }
    }

    fn release(&mut self, kind: &ScheduleKind, schedule_id: u64) -> Vec<Waker> {
        let answered = match kind {
            // A signal that was meant for this wait is not meant for the next one.
            ScheduleKind::ExternalWait { .. } => self.waits.cancel(schedule_id, true),
            ScheduleKind::QueueDequeue { .. } => self.queues.cancel(schedule_id, false),
            ScheduleKind::Activity { .. }
            | ScheduleKind::Timer
            | ScheduleKind::SubOrchestration { .. } => Vec::new(),
        };
        answered.into_iter().filter_map(|id| self.take_waker(id)).collect()
    }

    /// A breadcrumb of history ends a subscription. Returns whom to wake.
    pub(crate) fn end_subscription(&mut self, kind: DropKind, schedule_id: u64) -> Vec<Waker> {
        let answered = match kind {
            DropKind::Wait => self.waits.cancel(schedule_id, self.rules.early_race),
            DropKind::Dequeue => self.queues.cancel(schedule_id, false),
            DropKind::Activity | DropKind::SubOrchestration => Vec::new(),
        };
        answered.into_iter().filter_map(|id| self.take_waker(id)).collect()
    }

    fn take_waker(&mut self, schedule_id: u64) -> Option<Waker> {
        self.calls.by_schedule_mut(schedule_id).and_then(|call| call.waker.take())
    }

    /// Rough size of what is held, for the bound of the warm cache.
    pub(crate) fn bytes(&self) -> usize {
        const CALL_BYTES: usize = 256;
        self.waits.bytes()
            + self.queues.bytes()
            + self.kv.bytes()
            + self.calls.len() * CALL_BYTES
            + self.custom_status.as_ref().map_or(0, String::len)
    }
}
