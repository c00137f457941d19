//! Where an instance stands, by its history.

use std::sync::Arc;

use crate::model::{Event, EventKind};
use crate::runtime::start_facts::StartFacts;

/// What history says about the current execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// Its start; `None` if nothing is recorded.
    pub(super) facts: Option<Arc<StartFacts>>,
    pub(super) ended: Option<Ended>,
}

/// How an execution ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Completed or failed: nothing more will happen.
    Finished,
    /// The next execution follows.
    ContinuedAsNew,
}

impl Standing {
    /// By a whole history, or by what came after a start that is already known.
    pub(super) fn of(known: Option<Arc<StartFacts>>, events: &[Event]) -> Self {
        let mut standing = Self { facts: known, ended: None };
        for event in events {
            if standing.facts.is_none() {
                standing.facts = StartFacts::of(event).map(Arc::new);
            }
            match &event.kind {
                EventKind::OrchestrationCompleted { .. }
                | EventKind::OrchestrationFailed { .. } => standing.ended = Some(Ended::Finished),
                EventKind::OrchestrationContinuedAsNew { .. } => {
                    standing.ended.get_or_insert(Ended::ContinuedAsNew);
                }
                _says_nothing_about_the_end => {}
            }
        }
        standing
    }
}
