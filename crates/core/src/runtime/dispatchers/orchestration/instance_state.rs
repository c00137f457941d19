//! The state of an instance, by its history.

use std::sync::Arc;

use crate::model::{Event, ExecutionStatus};
use crate::runtime::start_facts::StartFacts;

/// The state of the current execution, by its history.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct InstanceState {
    /// Its start; `None` if nothing is recorded.
    pub(super) facts: Option<Arc<StartFacts>>,
    /// `None` while it runs.
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

impl InstanceState {
    /// From a whole history, or from the events after a start that is already known.
    pub(super) fn of(known: Option<Arc<StartFacts>>, events: &[Event]) -> Self {
        let mut state = Self { facts: known, ended: None };
        for event in events {
            if state.facts.is_none() {
                state.facts = StartFacts::of(event).map(Arc::new);
            }
            match event.kind.final_status() {
                Some(ExecutionStatus::Completed | ExecutionStatus::Failed) => {
                    state.ended = Some(Ended::Finished);
                }
                Some(ExecutionStatus::ContinuedAsNew) => {
                    state.ended.get_or_insert(Ended::ContinuedAsNew);
                }
                Some(ExecutionStatus::Running) | None => {}
            }
        }
        state
    }
}
