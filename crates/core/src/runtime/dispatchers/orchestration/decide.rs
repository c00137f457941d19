//! What to do with a fetched turn.

use semver::Version;

use super::batch::Batch;
use super::instance_state::{Ended, InstanceState};
use crate::model::{WorkItem, pins};
use crate::providers::FetchFilter;

/// What the decision depends on.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) state: &'a InstanceState,
    pub(super) batch: &'a Batch,
    pub(super) history_error: Option<&'a str>,
    pub(super) attempt_count: u32,
    pub(super) attempts_max: u32,
    pub(super) filter: &'a FetchFilter,
}

/// What to do. Branching ends here: each of these does one thing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// This node cannot replay the execution; another one may.
    ReleaseIncompatible { pin: Version },
    /// This node cannot read the history; a node with newer code may.
    ReleaseUnreadable { error: String },
    /// The start of the next execution has not arrived yet; all messages wait for it.
    ReleaseUntilSuccessor,
    /// The history cannot be read, and the turn was fetched too often.
    FailUnreadable { error: String },
    /// The messages were fetched too often.
    FailPoisoned,
    /// The instance has finished: remove late messages.
    Drain,
    /// The instance does not exist: remove its messages.
    Discard,
    /// Run the code.
    Run,
}

pub(super) fn decide(facts: &Facts<'_>) -> Decision {
    let state = facts.state;
    let poisoned = facts.attempt_count > facts.attempts_max;
    // Before all others: removing late messages needs neither code nor history, and a finished
    // instance must not fail afterwards.
    if state.ended == Some(Ended::Finished) {
        return Decision::Drain;
    }
    // Only a provider that ignores the filter returns such an execution. It must not be released
    // and fetched for ever.
    if let Some(pin) = incompatible_pin(facts).filter(|_| !poisoned) {
        return Decision::ReleaseIncompatible { pin };
    }
    if let Some(error) = facts.history_error {
        let error = error.to_owned();
        return match poisoned {
            true => Decision::FailUnreadable { error },
            false => Decision::ReleaseUnreadable { error },
        };
    }
    if state.facts.is_none() && facts.batch.start.is_none() {
        return Decision::Discard;
    }
    if poisoned {
        return Decision::FailPoisoned;
    }
    let continues = matches!(facts.batch.start, Some(WorkItem::ContinueAsNew { .. }));
    if state.ended == Some(Ended::ContinuedAsNew) && !continues {
        return Decision::ReleaseUntilSuccessor;
    }
    Decision::Run
}

/// The pin, if this node cannot replay it. A missing or unreadable pin is compatible.
fn incompatible_pin(facts: &Facts<'_>) -> Option<Version> {
    let pin = Version::parse(&facts.state.facts.as_ref()?.pin).ok()?;
    // The ranges of a node are a choice; what the engine cannot replay is not.
    (!facts.filter.allows_pin(&pin) || pins::refusal(&pin).is_some()).then_some(pin)
}
