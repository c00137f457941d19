//! Everything outside: workers, timers, children and people, all by chance.

use std::collections::HashMap;

use duroxide_core::engine::{Turn, TurnResult};
use duroxide_core::providers::KvEntry;
use duroxide_core::{ErrorDetails, Event, EventKind, WorkItem};

use super::subject::{Batch, Begin};
use crate::notation::{INSTANCE, application};

/// Turns in which things happen by chance; after them everything is answered.
const CHANCE_TURNS_MAX: u64 = 40;

/// Turns after which a program that is answered must have ended.
pub(crate) const TURNS_MAX: u64 = 600;

pub(crate) struct World {
    chance: Chance,
    chance_turns: u64,
    may_cancel: bool,
    may_fail: bool,
    turn: u64,
    now_ms: u64,
    /// Answers that are on their way.
    outstanding: Vec<WorkItem>,
    answered: Vec<WorkItem>,
    next: Option<(Begin, Vec<(String, String)>)>,
    /// Messages of the running execution, in order of arrival.
    pub(crate) arrivals: Vec<(String, String)>,
    kv: HashMap<String, KvEntry>,
    data: u64,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance(seed | 1);
        let begin = Begin {
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
            answered: Vec::new(),
            next: Some((begin, Vec::new())),
            arrivals: Vec::new(),
            kv: HashMap::new(),
            data: 0,
        }
    }

    /// What the next turn is given.
    pub(crate) fn batch(&mut self) -> Batch {
        self.turn += 1;
        self.now_ms += self.chance.below(40);
        let mut messages = Vec::new();
        let mut begin = None;
        if let Some((next, carried)) = self.next.take() {
            self.arrivals.clear();
            begin = Some(next);
            messages.extend(carried.into_iter().map(|(name, data)| message(&name, data)));
        }
        let new = if self.turn <= self.chance_turns { self.some() } else { self.everything() };
        messages.extend(new);
        for item in &messages {
            if let WorkItem::QueueMessage { name, data, .. } = item {
                self.arrivals.push((name.clone(), data.clone()));
            }
        }
        Batch { begin, messages, now_ms: self.now_ms }
    }

    fn some(&mut self) -> Vec<WorkItem> {
        let mut messages = Vec::new();
        for _message in 0..self.chance.below(4) {
            let item = match self.chance.below(10) {
                0..5 if self.may_fail && self.chance.one_in(12) => self.fatal(),
                0..5 => self.answer(),
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

    /// All answers, and something for every name that the code could wait for.
    fn everything(&mut self) -> Vec<WorkItem> {
        let mut messages = std::mem::take(&mut self.outstanding);
        for name in 0..2 {
            messages.push(signal(name, self.data()));
            messages.push(message(&format!("q{name}"), self.data()));
        }
        messages
    }

    fn answer(&mut self) -> Option<WorkItem> {
        if self.outstanding.is_empty() {
            return None;
        }
        let at = self.chance.index(self.outstanding.len());
        let item = self.outstanding.swap_remove(at);
        self.answered.push(item.clone());
        Some(item)
    }

    /// Something that ends the instance: a failure that is not the application's, or an answer that
    /// nothing asked for.
    fn fatal(&mut self) -> Option<WorkItem> {
        match self.answer()? {
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

    /// An answer that was given before.
    fn repeat(&mut self) -> Option<WorkItem> {
        if self.answered.is_empty() {
            return None;
        }
        let at = self.chance.index(self.answered.len());
        Some(self.answered[at].clone())
    }

    fn signal(&mut self) -> WorkItem {
        signal(self.chance.below(2), self.data())
    }

    fn queue_message(&mut self) -> WorkItem {
        let name = format!("q{}", self.chance.below(2));
        message(&name, self.data())
    }

    /// A payload that occurs once.
    fn data(&mut self) -> String {
        self.data += 1;
        self.data.to_string()
    }

    /// Takes over what a turn sends out. Returns whether the instance goes on.
    pub(crate) fn commit(&mut self, turn: &Turn, history: &[Event]) -> bool {
        for item in turn.worker_items.iter().chain(&turn.orchestrator_items) {
            let answer = self.answer_to(item);
            self.outstanding.extend(answer);
            if let WorkItem::ContinueAsNew { .. } = item {
                self.continue_with(item, history);
            }
        }
        let chance = &mut self.chance;
        self.outstanding.retain(|item| match item {
            // Sometimes the worker was faster than the cancellation.
            WorkItem::ActivityCompleted { id, .. } | WorkItem::ActivityFailed { id, .. } => {
                !turn.cancelled_activities.contains(id) || chance.one_in(4)
            }
            _other => true,
        });
        matches!(turn.result, TurnResult::Continue | TurnResult::ContinueAsNew { .. })
    }

    fn continue_with(&mut self, item: &WorkItem, history: &[Event]) {
        let WorkItem::ContinueAsNew { input, carry_forward_events, initial_custom_status, .. } =
            item
        else {
            return;
        };
        for event in history {
            apply_kv(&mut self.kv, event);
        }
        let begin = Begin {
            execution_id: history[0].execution_id + 1,
            input: input.clone(),
            custom_status: initial_custom_status.clone(),
            kv: self.kv.clone(),
        };
        self.next = Some((begin, carry_forward_events.clone()));
    }

    fn answer_to(&mut self, item: &WorkItem) -> Option<WorkItem> {
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
            _needs_no_answer => None,
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

/// Chance that a seed repeats.
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
