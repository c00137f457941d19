//! The debug switch `replay_every_turn`: replays each turn once more, cold, and compares.
//!
//! The replay runs where tokio has neither timers nor I/O. Code that uses them panics there, at its
//! own line and in the turn in which it does.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;

use crate::context::OrchestrationHandler;
use crate::engine::{Agreement, Disagreement, Execution, Setup, Turn};
use crate::limits::BLOCKED_TURN_MIN;
use crate::model::{Event, KvEntry};
use crate::panics;
use crate::runtime::node::Node;

/// How tokio's panic begins if the executor lacks what the code wants.
const TOKIO_LACKS: &str = "A Tokio 1.x context was found, but ";

/// How the text of a fault begins. The failure of the turn has it already.
const NONDETERMINISTIC: &str = "nondeterministic: ";

/// What a second replay of an execution needs. Kept only if the options ask for one.
pub(super) struct ColdReplay {
    handler: Arc<dyn OrchestrationHandler>,
    kv_snapshot: HashMap<String, KvEntry>,
    history: Vec<Event>,
}

impl ColdReplay {
    pub(super) fn new(
        node: &Node,
        handler: &Arc<dyn OrchestrationHandler>,
        kv_snapshot: &HashMap<String, KvEntry>,
        history: &[Event],
    ) -> Option<Box<Self>> {
        node.options.replay_every_turn.then(|| {
            Box::new(Self {
                handler: Arc::clone(handler),
                kv_snapshot: kv_snapshot.clone(),
                history: history.to_vec(),
            })
        })
    }

    /// Replays the history with the events of this turn. Returns what is wrong with the code.
    /// `first_run` is how long the code ran in this turn.
    pub(super) fn problem(
        mut self,
        node: &Node,
        decided: &Turn,
        first_run: Duration,
    ) -> Option<String> {
        self.history.extend(decided.events.iter().cloned());
        let setup = Setup {
            handler: self.handler,
            kv_snapshot: self.kv_snapshot,
            parent: None,
            ignored_inputs: node.handlers.ignored_inputs(),
            on_foreign_wake: None,
        };
        let begun = Instant::now();
        let replayed = replay(setup, &self.history);
        // A machine under load may stop a thread for long, but hardly twice in the same turn.
        let blocked = first_run.min(begun.elapsed());
        let found = replayed.finding().or((blocked >= BLOCKED_TURN_MIN).then_some(Finding::Blocks));
        found.map(|found| found.to_string())
    }
}

/// The outcome of a replay.
struct Replayed {
    compared: Result<Agreement, Box<Disagreement>>,
    /// The code started a task of the executor.
    spawned: bool,
    panicked_at: Option<String>,
}

/// Replays where tokio has no timers and no I/O, and runs no tasks.
fn replay(setup: Setup, history: &[Event]) -> Replayed {
    let Ok(executor) = Builder::new_current_thread().build() else {
        let compared = Execution::verify(setup, history);
        return Replayed { compared, spawned: false, panicked_at: None };
    };
    let within = executor.enter();
    let (compared, panicked_at) = panics::located(|| Execution::verify(setup, history));
    drop(within);
    let spawned = executor.metrics().num_alive_tasks() > 0;
    // An ordinary drop waits for tasks that block, which async code must not.
    executor.shutdown_background();
    Replayed { compared, spawned, panicked_at }
}

/// What is wrong with the code.
enum Finding {
    Differs(Box<Disagreement>),
    /// The code makes more calls than in its first run.
    CallsMore(usize),
    /// The code returns where it waited in its first run.
    Returns,
    /// The code uses timers or I/O of the executor.
    UsesExecutor {
        at: Option<String>,
    },
    Spawns,
    Blocks,
    DropsCall(&'static Location<'static>),
}

impl Replayed {
    fn finding(self) -> Option<Finding> {
        let agreement = match self.compared {
            Ok(agreement) => agreement,
            Err(difference) if difference.message.contains(TOKIO_LACKS) => {
                return Some(Finding::UsesExecutor { at: self.panicked_at });
            }
            Err(_) if self.spawned => return Some(Finding::Spawns),
            Err(difference) => return Some(Finding::Differs(difference)),
        };
        if self.spawned {
            return Some(Finding::Spawns);
        }
        if agreement.is_finished {
            return None;
        }
        if agreement.calls_ahead > 0 {
            return Some(Finding::CallsMore(agreement.calls_ahead));
        }
        if agreement.returns_early {
            return Some(Finding::Returns);
        }
        agreement.dropped_calls.first().map(|site| Finding::DropsCall(site))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Differs(difference) => {
                write!(f, "the same turn decides otherwise when it is replayed: ")?;
                write_difference(f, difference)
            }
            Self::CallsMore(calls) => write!(
                f,
                "the same turn decides otherwise when it is replayed: it makes {calls} more calls"
            ),
            Self::Returns => f.write_str(
                "the same turn decides otherwise when it is replayed: it returns and does not wait",
            ),
            Self::UsesExecutor { at } => {
                let at = at.as_deref().unwrap_or("an unknown line");
                write!(
                    f,
                    "orchestration code uses a timer or I/O of the executor at {at}, which no \
                     replay can repeat; use the timers, activities and events of its context \
                     instead"
                )
            }
            Self::Spawns => f.write_str(
                "orchestration code starts a task of the executor, which no replay can repeat; \
                 use an activity, or join futures of its context instead",
            ),
            Self::Blocks => write!(
                f,
                "orchestration code blocks its thread: a turn ran for {BLOCKED_TURN_MIN:?} or \
                 longer, twice; move the work into an activity"
            ),
            Self::DropsCall(site) => write!(
                f,
                "the call at {site} is dropped at once, which cancels it; an await is missing"
            ),
        }
    }
}

fn write_difference(f: &mut fmt::Formatter<'_>, difference: &Disagreement) -> fmt::Result {
    let message = difference.message.strip_prefix(NONDETERMINISTIC);
    f.write_str(message.unwrap_or(&difference.message))?;
    if let Some(site) = difference.call_site {
        write!(f, "; called at {site}")?;
    }
    if difference.field == "result" {
        write!(f, ": recorded {}, now {}", difference.recorded, difference.requested)?;
    }
    Ok(())
}
