//! The random world around a program: workers, timers, children and clients.

use std::collections::HashMap;

use duroxide_core::engine::{Turn, TurnResult};
use duroxide_core::providers::KvEntry;
use duroxide_core::{ErrorDetails, Event, EventKind, WorkItem};

use super::subject::{Batch, StartData};
use crate::notation::{INSTANCE, application};

/// Turns with random messages; after them every action is completed.
const CHANCE_TURNS_MAX: u64 = 40;

/// Turns after which a program whose actions complete must have completed.
pub(crate) const TURNS_MAX: u64 = 600;

pub(crate) struct World {
    chance: Chance,
    chance_turns: u64,
    may_cancel: bool,
    may_fail: bool,
    turn: u64,
    now_ms: u64,
    /// Completions that are not delivered yet.
    outstanding: Vec<WorkItem>,
    delivered: Vec<WorkItem>,
    next: Option<(StartData, Vec<(String, String)>)>,
    /// Messages of the running execution, in order of arrival.
    pub(crate) arrivals: Vec<(String, String)>,
    kv: HashMap<String, KvEntry>,
    data: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance(seed | 1);
        let start = StartData {
            execution_id: 1,
            input: "begin".to_owned(),
            custom_status: None,
            kv: HashMap::new(),
        };
        Self {
            chance_turns: chance.below(CHANCE_TURNS_MAX),
            may_cancel: chance.one_in(4),
            may_fail: chance.one_in(8),
            chance,
            turn: 0,
            now_ms: 1000,
            outstanding: Vec::new(),
            delivered: Vec::new(),
            next: Some((start, Vec::new())),
            arrivals: Vec::new(),
            kv: HashMap::new(),
            data: 0,
        }
    }

    /// The batch of the next turn.
    pub(crate) fn batch(&mut self) -> Batch {
        self.turn += 1;
        self.now_ms += self.chance.below(40);
        let mut messages = Vec::new();
        let mut start = None;
        if let Some((next, carried)) = self.next.take() {
            self.arrivals.clear();
            start = Some(next);
            messages.extend(carried.into_iter().map(|(name, data)| message(&name, data)));
        }
        let new = if self.turn <= self.chance_turns {
            self.random_messages()
        } else {
            self.all_messages()
        };
        messages.extend(new);
        for item in &messages {
            if let WorkItem::QueueMessage { name, data, .. } = item {
                self.arrivals.push((name.clone(), data.clone()));
            }
        }
        Batch { start, messages, now_ms: self.now_ms }
    }

    fn random_messages(&mut self) -> Vec<WorkItem> {
        let mut messages = Vec::new();
        for _message in 0..self.chance.below(4) {
            let item = match self.chance.below(10) {
                0..5 if self.may_fail && self.chance.one_in(12) => self.fatal(),
                0..5 => self.completion(),
                5 => self.repeat(),
                6 | 7 => Some(self.signal()),
                8 => Some(self.queue_message()),
                _rarely if self.may_cancel && self.chance.one_in(2) => {
                    Some(WorkItem::CancelInstance {
                        instance: INSTANCE.to_owned(),
                        reason: "enough".to_owned(),
                    })
                }
                _else => Some(self.queue_message()),
            };
            messages.extend(item);
        }
        messages
    }

    /// All completions, and a message for every name that the code may wait for.
    fn all_messages(&mut self) -> Vec<WorkItem> {
        let mut messages = std::mem::take(&mut self.outstanding);
        for name in 0..2 {
            messages.push(signal(name, self.data()));
            messages.push(message(&format!("q{name}"), self.data()));
        }
        messages
    }

    fn completion(&mut self) -> Option<WorkItem> {
        if self.outstanding.is_empty() {
            return None;
        }
        let at = self.chance.index(self.outstanding.len());
        let item = self.outstanding.swap_remove(at);
        self.delivered.push(item.clone());
        Some(item)
    }

    /// A message that fails the instance: a system failure, or the firing of a timer that was not
    /// scheduled.
    fn fatal(&mut self) -> Option<WorkItem> {
        match self.completion()? {
            WorkItem::ActivityCompleted { instance, execution_id, id, result } => {
                let details = ErrorDetails::Infrastructure {
                    operation: "op".to_owned(),
                    message: result,
                    retryable: false,
                };
                Some(WorkItem::ActivityFailed { instance, execution_id, id, details })
            }
            WorkItem::TimerFired { instance, execution_id, fire_at_ms, .. } => {
                Some(WorkItem::TimerFired { instance, execution_id, id: 1, fire_at_ms })
            }
            other => Some(other),
        }
    }

    /// A completion that was delivered before.
    fn repeat(&mut self) -> Option<WorkItem> {
        if self.delivered.is_empty() {
            return None;
        }
        let at = self.chance.index(self.delivered.len());
        Some(self.delivered[at].clone())
    }

    fn signal(&mut self) -> WorkItem {
        signal(self.chance.below(2), self.data())
    }

    fn queue_message(&mut self) -> WorkItem {
        let name = format!("q{}", self.chance.below(2));
        message(&name, self.data())
    }

    /// A payload that is unique in this world.
    fn data(&mut self) -> String {
        self.data += 1;
        self.data.to_string()
    }

    /// Queues completions of what a turn sends. Returns whether the instance is still running.
    pub(crate) fn commit(&mut self, turn: &Turn, history: &[Event]) -> bool {
        for item in turn.worker_items.iter().chain(&turn.orchestrator_items) {
            let completion = self.completion_of(item);
            self.outstanding.extend(completion);
            if let WorkItem::ContinueAsNew { .. } = item {
                self.start_next_execution(item, history);
            }
        }
        let chance = &mut self.chance;
        self.outstanding.retain(|item| match item {
            // Sometimes the worker completes before the cancellation.
            WorkItem::ActivityCompleted { id, .. } | WorkItem::ActivityFailed { id, .. } => {
                !turn.cancelled_activities.contains(id) || chance.one_in(4)
            }
            _other => true,
        });
        matches!(turn.result, TurnResult::Continue | TurnResult::ContinueAsNew { .. })
    }

    fn start_next_execution(&mut self, item: &WorkItem, history: &[Event]) {
        let WorkItem::ContinueAsNew { input, carry_forward_events, initial_custom_status, .. } =
            item
        else {
            return;
        };
        for event in history {
            apply_kv(&mut self.kv, event);
        }
        let start = StartData {
            execution_id: history[0].execution_id + 1,
            input: input.clone(),
            custom_status: initial_custom_status.clone(),
            kv: self.kv.clone(),
        };
        self.next = Some((start, carry_forward_events.clone()));
    }

    fn completion_of(&mut self, item: &WorkItem) -> Option<WorkItem> {
        let fails = self.chance.one_in(4);
        let data = self.data();
        match item.clone() {
            WorkItem::ActivityExecute { instance, execution_id, id, .. } if fails => {
                let details = application(&data);
                Some(WorkItem::ActivityFailed { instance, execution_id, id, details })
            }
            WorkItem::ActivityExecute { instance, execution_id, id, .. } => {
                Some(WorkItem::ActivityCompleted { instance, execution_id, id, result: data })
            }
            WorkItem::StartOrchestration {
                parent_instance: Some(parent_instance),
                parent_id: Some(parent_id),
                parent_execution_id: Some(parent_execution_id),
                ..
            } => Some(WorkItem::SubOrchCompleted {
                parent_instance,
                parent_execution_id,
                parent_id,
                result: data,
            }),
            timer @ WorkItem::TimerFired { .. } => Some(timer),
            _needs_no_completion => None,
        }
    }
}

fn signal(name: u64, data: String) -> WorkItem {
    WorkItem::ExternalRaised { instance: INSTANCE.to_owned(), name: format!("s{name}"), data }
}

fn message(name: &str, data: String) -> WorkItem {
    WorkItem::QueueMessage { instance: INSTANCE.to_owned(), name: name.to_owned(), data }
}

fn apply_kv(kv: &mut HashMap<String, KvEntry>, event: &Event) {
    match &event.kind {
        EventKind::KeyValueSet { key, value, last_updated_at_ms } => {
            let entry = KvEntry { value: value.clone(), last_updated_at_ms: *last_updated_at_ms };
            kv.insert(key.clone(), entry);
        }
        EventKind::KeyValueCleared { key } => {
            kv.remove(key);
        }
        EventKind::KeyValuesCleared => kv.clear(),
        _not_about_keys => {}
    }
}

/// Random numbers that a seed reproduces.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).expect("below a length")
    }
}
