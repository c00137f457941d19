//! What to do with a fetched turn.

use semver::Version;

use super::batch::Batch;
use super::standing::{Ended, Standing};
use crate::model::WorkItem;
use crate::providers::DispatcherCapabilityFilter;

/// What the decision depends on.
#[derive(Debug)]
pub(super) struct Facts<'a> {
    pub(super) standing: &'a Standing,
    pub(super) batch: &'a Batch,
    pub(super) history_error: Option<&'a str>,
    pub(super) attempt_count: u32,
    pub(super) attempts_max: u32,
    pub(super) capabilities: &'a DispatcherCapabilityFilter,
}

/// What to do. Branching ends here: each of these does one thing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// This node cannot replay the execution; another one may.
    GiveBackIncompatible { pin: Version },
    /// History cannot be read; perhaps a node with newer code can.
    GiveBackUnreadable { error: String },
    /// The next execution's start is not here yet; everything waits for it.
    GiveBackUntilSuccessor,
    /// The history cannot be read and was tried often enough.
    FailUnreadable { error: String },
    /// The messages were tried often enough.
    FailPoisoned,
    /// The instance is over: late messages are swallowed.
    Drain,
    /// Messages for nobody.
    Discard,
    /// Take the turn.
    Run,
}

pub(super) fn decide(facts: &Facts<'_>) -> Decision {
    let standing = facts.standing;
    let poisoned = facts.attempt_count > facts.attempts_max;
    // Only a provider that ignores the filter hands out such an execution; it must not go round
    // for ever.
    if let Some(pin) = incompatible_pin(facts).filter(|_| !poisoned) {
        return Decision::GiveBackIncompatible { pin };
    }
    if let Some(error) = facts.history_error {
        let error = error.to_owned();
        return match poisoned {
            true => Decision::FailUnreadable { error },
            false => Decision::GiveBackUnreadable { error },
        };
    }
    // Checked before poison: what is over must not fail afterwards.
    if standing.ended == Some(Ended::Finished) {
        return Decision::Drain;
    }
    if standing.facts.is_none() && facts.batch.start.is_none() {
        return Decision::Discard;
    }
    if poisoned {
        return Decision::FailPoisoned;
    }
    let continues = matches!(facts.batch.start, Some(WorkItem::ContinueAsNew { .. }));
    if standing.ended == Some(Ended::ContinuedAsNew) && !continues {
        return Decision::GiveBackUntilSuccessor;
    }
    Decision::Run
}

/// The pin, if this node cannot replay it. No pin and an unreadable one pass.
fn incompatible_pin(facts: &Facts<'_>) -> Option<Version> {
    let pin = Version::parse(&facts.standing.facts.as_ref()?.pin).ok()?;
    (!facts.capabilities.is_compatible(&pin)).then_some(pin)
}
