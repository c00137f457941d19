//! Audits the store when all workflows have completed. Names every rule that is broken.

use std::collections::{BTreeSet, HashMap};

use duroxide::{Event, EventKind};

use crate::effects::{Had, Key};
use crate::facts::{ExecutionRow, Facts, Leftovers};
use crate::kinds::done;

/// Activities that have an effect.
const WITH_EFFECT: [&str; 2] = ["Step", "Slow"];
/// Violations that are listed.
const LISTED_MAX: usize = 30;

/// What was found, in numbers.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) instances: usize,
    pub(crate) executions: usize,
    pub(crate) turns: usize,
    pub(crate) activities: usize,
    pub(crate) cancelled_activities: usize,
    pub(crate) effects: usize,
    /// Effects that were repeated because a node died before it reported them.
    pub(crate) redeliveries: usize,
}

/// A call of an activity that has an effect.
struct Call {
    input: String,
    completed: bool,
}

/// Whether the same attempt of a call may have its effect twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempts {
    AreUnique,
    /// The store may have forgotten leases.
    MayRepeat,
}

struct Audit<'a> {
    facts: &'a Facts,
    effects: &'a HashMap<Key, Had>,
    /// Calls that have an effect.
    calls: HashMap<Key, Call>,
    attempts: Attempts,
    counts: Counts,
    broken: Vec<String>,
}

/// Checks everything; an error lists the broken rules.
pub(crate) fn audit(
    facts: &Facts,
    effects: &HashMap<Key, Had>,
    attempts: Attempts,
) -> Result<Counts, String> {
    let mut audit = Audit::of(facts, effects, attempts);
    audit.store();
    audit.instances();
    audit.histories();
    audit.effects();
    audit.verdict()
}

/// Checks, while work is left, that every effect was scheduled by a turn that is in the store.
pub(crate) fn scheduled(facts: &Facts, effects: &HashMap<Key, Had>) -> Result<(), String> {
    let mut audit = Audit::of(facts, effects, Attempts::MayRepeat);
    for event in &facts.events {
        audit.add_call(event, false);
    }
    audit.effects();
    audit.verdict().map(drop)
}

impl<'a> Audit<'a> {
    fn of(facts: &'a Facts, effects: &'a HashMap<Key, Had>, attempts: Attempts) -> Self {
        Self {
            facts,
            effects,
            calls: HashMap::new(),
            attempts,
            counts: Counts::default(),
            broken: Vec::new(),
        }
    }

    fn verdict(self) -> Result<Counts, String> {
        if self.broken.is_empty() {
            return Ok(self.counts);
        }
        let listed: Vec<&str> = self.broken.iter().take(LISTED_MAX).map(String::as_str).collect();
        Err(format!("{} rules are broken:\n{}", self.broken.len(), listed.join("\n")))
    }

    fn require(&mut self, kept: bool, rule: impl FnOnce() -> String) {
        if !kept {
            self.broken.push(rule());
        }
    }

    fn store(&mut self) {
        let (soundness, left) = (&self.facts.soundness, self.facts.leftovers);
        self.require(soundness == "ok", || format!("the store is damaged: {soundness}"));
        self.require(left == Leftovers::default(), || format!("something is left: {left:?}"));
    }

    /// Executions have no gap in their numbers; the last is terminal, the others continued as new.
    fn instances(&mut self) {
        let facts = self.facts;
        let mut by_instance: HashMap<&str, Vec<&ExecutionRow>> = HashMap::new();
        for row in &facts.executions {
            by_instance.entry(&row.instance).or_default().push(row);
        }
        for (instance, current) in &facts.instances {
            let rows = by_instance.remove(instance.as_str()).unwrap_or_default();
            let numbers: Vec<u64> = rows.iter().map(|row| row.execution).collect();
            let gapless = numbers.iter().copied().eq(1..=*current);
            self.require(gapless, || format!("{instance}: executions {numbers:?} of {current}"));
            for row in rows {
                let ended = match row.execution == *current {
                    true => matches!(row.status.as_str(), "Completed" | "Failed"),
                    false => row.status == "ContinuedAsNew",
                };
                self.require(ended, || {
                    format!("{instance}: execution {} is {}", row.execution, row.status)
                });
            }
        }
        self.require(by_instance.is_empty(), || "executions without an instance".to_owned());
        self.counts.instances = facts.instances.len();
        self.counts.executions = facts.executions.len();
    }

    fn histories(&mut self) {
        let facts = self.facts;
        let same = |left: &Event, right: &Event| {
            left.instance_id == right.instance_id && left.execution_id == right.execution_id
        };
        let statuses: HashMap<(&str, u64), &str> = facts
            .executions
            .iter()
            .map(|row| ((row.instance.as_str(), row.execution), row.status.as_str()))
            .collect();
        let mut histories = 0;
        for history in facts.events.chunk_by(same) {
            histories += 1;
            let first = &history[0];
            let whose = format!("{}/{}", first.instance_id, first.execution_id);
            let status = statuses.get(&(first.instance_id.as_str(), first.execution_id));
            self.order(&whose, history, status.copied().unwrap_or("missing"));
            self.completions(&whose, history);
            let turns: BTreeSet<u64> = history.iter().map(|event| event.timestamp_ms).collect();
            self.counts.turns += turns.len();
        }
        let executions = facts.executions.len();
        self.require(histories == executions, || {
            format!("{histories} histories for {executions} executions")
        });
    }

    /// Numbers without a gap or a repetition, one start, one end, and the end is the stored status.
    fn order(&mut self, whose: &str, history: &[Event], status: &str) {
        let numbers = history.iter().map(|event| event.event_id);
        let gapless = numbers.eq(1..=history.len() as u64);
        self.require(gapless, || format!("{whose}: events are not numbered without a gap"));
        let starts = history.iter().filter(|event| event.is_start()).count();
        let starts_well = starts == 1 && history[0].is_start();
        self.require(starts_well, || format!("{whose}: {starts} starts, or not the first event"));
        let ends: Vec<(usize, &str)> = history
            .iter()
            .enumerate()
            .filter_map(|(index, event)| Some((index, end_of(&event.kind)?)))
            .collect();
        let [(index, end)] = ends[..] else {
            return self.require(false, || format!("{whose}: {} ends", ends.len()));
        };
        self.require(end == status, || format!("{whose}: ends as {end} but is {status}"));
        let after_the_end = history[index + 1..]
            .iter()
            .all(|event| matches!(event.kind, EventKind::ActivityCancelRequested { .. }));
        self.require(after_the_end, || format!("{whose}: something happened after the end"));
    }

    /// Every completion belongs to an earlier schedule of its kind, and none completes twice.
    fn completions(&mut self, whose: &str, history: &[Event]) {
        let mut answered = BTreeSet::new();
        for event in history {
            if let EventKind::ActivityCancelRequested { .. } = &event.kind {
                self.counts.cancelled_activities += 1;
            }
            let Some(answers) = answers(&event.kind) else { continue };
            let number = event.event_id;
            let source = event.source_event_id.unwrap_or(0);
            let asked = usize::try_from(source).ok().and_then(|id| history.get(id.wrapping_sub(1)));
            let fits = asked.is_some_and(|asked| source < number && answers(&asked.kind));
            self.require(fits, || format!("{whose}: event {number} completes nothing"));
            let first = answered.insert(source);
            self.require(first, || format!("{whose}: event {source} completes twice"));
            if let (Some(asked), EventKind::ActivityCompleted { result }) = (asked, &event.kind) {
                self.result(whose, asked, result);
            }
        }
        for event in history {
            self.add_call(event, answered.contains(&event.event_id));
        }
    }

    fn add_call(&mut self, event: &Event, completed: bool) {
        if let Some(input) = input_with_effect(event) {
            let key = Key {
                instance: event.instance_id.clone(),
                execution: event.execution_id,
                activity: event.event_id,
            };
            self.calls.insert(key, Call { input: input.to_owned(), completed });
        }
    }

    fn result(&mut self, whose: &str, asked: &Event, result: &str) {
        self.counts.activities += 1;
        if let Some(input) = input_with_effect(asked) {
            self.require(result == done(input), || {
                format!("{whose}: '{result}' is not what '{input}' gives")
            });
        }
    }

    /// A completed call had its effect; every effect was scheduled by a committed turn with exactly
    /// this input, and no attempt had its effect twice.
    fn effects(&mut self) {
        let (calls, effects) = (std::mem::take(&mut self.calls), self.effects);
        for (key, call) in &calls {
            let had = effects.contains_key(key);
            self.require(had || !call.completed, || {
                format!("{key:?} is completed without an effect")
            });
        }
        for (key, had) in effects {
            let asked = calls.get(key).map(|call| call.input.as_str());
            let as_asked = had.inputs.iter().all(|input| Some(input.as_str()) == asked);
            self.require(as_asked, || {
                format!("{key:?} did {had:?}, but history asks for {asked:?}")
            });
            let attempts: BTreeSet<u32> = had.attempts.iter().copied().collect();
            let unique = attempts.len() == had.attempts.len();
            self.require(unique || self.attempts == Attempts::MayRepeat, || {
                format!("{key:?}: one attempt had its effect twice: {had:?}")
            });
            self.counts.effects += had.attempts.len();
            self.counts.redeliveries += had.attempts.len() - 1;
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "all other events leave the execution running")]
fn end_of(kind: &EventKind) -> Option<&'static str> {
    match kind {
        EventKind::OrchestrationCompleted { .. } => Some("Completed"),
        EventKind::OrchestrationFailed { .. } => Some("Failed"),
        EventKind::OrchestrationContinuedAsNew { .. } => Some("ContinuedAsNew"),
        _goes_on => None,
    }
}

/// What a completion completes; `None` if the event is no completion.
#[expect(clippy::wildcard_enum_match_arm, reason = "all other events answer nothing")]
fn answers(kind: &EventKind) -> Option<fn(&EventKind) -> bool> {
    Some(match kind {
        EventKind::ActivityCompleted { .. } | EventKind::ActivityFailed { .. } => {
            |asked| matches!(asked, EventKind::ActivityScheduled { .. })
        }
        EventKind::TimerFired { .. } => |asked| matches!(asked, EventKind::TimerCreated { .. }),
        EventKind::SubOrchestrationCompleted { .. } | EventKind::SubOrchestrationFailed { .. } => {
            |asked| matches!(asked, EventKind::SubOrchestrationScheduled { .. })
        }
        _no_completion => return None,
    })
}

/// Input of a call that has an effect.
fn input_with_effect(event: &Event) -> Option<&str> {
    let EventKind::ActivityScheduled { name, input, .. } = &event.kind else { return None };
    WITH_EFFECT.contains(&name.as_str()).then_some(input.as_str())
}
