//! Compares a recorded history with the code, for a check before the code is deployed.
//!
//! The runtime replays only histories that go on, and accepts code that asks for less at the end.
//! A check is stricter: it also compares what a finished execution returned, and reports schedules
//! that code which returns early no longer asks for.

use std::collections::BTreeMap;
use std::panic::Location;

use super::execution::{End, Execution};
use super::roles::Role;
use super::turn::Setup;
use crate::context::state::CallSite;
use crate::model::edit::is_given_change;
use crate::model::{Action, AppErrorKind, ErrorDetails, Event, EventKind, PatchState};

/// The code agrees with its history.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Agreement {
    /// The history has its last event.
    pub is_finished: bool,
    /// Calls at the end that history does not have. The next turn would record them as new work.
    pub calls_ahead: usize,
    /// The code returns at the end of a history that goes on. The next turn would complete it.
    pub returns_early: bool,
    /// The patches that the code called for or that history contains.
    pub patches: BTreeMap<String, PatchState>,
    /// Where the code calls activities or children whose futures it drops at once.
    pub dropped_calls: Vec<&'static Location<'static>>,
}

/// The code does not agree with its history.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Disagreement {
    /// The recorded event that does not fit; `None` if the code stops after the last one.
    pub event_id: Option<u64>,
    /// What history has there.
    pub recorded: String,
    /// What the code asks for instead.
    pub requested: String,
    /// The field that differs, with both values if they can be compared.
    pub field: String,
    /// The line of the code that asks for it.
    pub call_site: Option<&'static Location<'static>>,
    /// The text that the runtime would fail the instance with.
    pub message: String,
}

/// What a comparison found, before it is a fault.
#[derive(Debug)]
pub(super) struct Mismatch {
    requested: Option<String>,
    field: String,
    call_site: Option<CallSite>,
}

const NOTHING: &str = "nothing";

impl Execution {
    /// Replays a whole history and compares it with the code.
    ///
    /// # Errors
    /// The first disagreement.
    pub fn verify(setup: Setup, history: &[Event]) -> Result<Agreement, Box<Disagreement>> {
        let Some(start) = history.first() else {
            return Err(Box::new(Disagreement::of_text("corrupted history: empty".to_owned())));
        };
        let mut execution = match Self::with_start(setup, start) {
            Ok(execution) => execution,
            Err(details) => {
                return Err(Box::new(Disagreement::of_text(details.display_message())));
            }
        };
        execution.ctx.shared.state().call_sites = Some(std::collections::HashMap::new());
        let agreement = execution.compare(history)?;
        let dropped_calls = std::mem::take(&mut execution.ctx.shared.state().dropped_calls);
        Ok(Agreement { patches: execution.patches(), dropped_calls, ..agreement })
    }

    fn compare(&mut self, history: &[Event]) -> Result<Agreement, Disagreement> {
        let waker = std::sync::Arc::clone(&self.waker);
        let _running = waker.enter();
        self.prepare_replay(history);
        let last = history.iter().find(|event| event.is_terminal());
        let mut returned = None;
        for event in history {
            self.settle();
            self.set_successor_aside();
            if matches!(self.end, Some(End::Returned(_))) && returned.is_none() {
                returned = self.end.take();
            }
            self.number(event);
            match &returned {
                None => self.feed(event),
                // What the code asked for before it returned is still recorded behind it.
                Some(_) if is_given_change(event) => {}
                Some(_) if Role::of(&event.kind).is_request() => self.match_asked(event),
                Some(_) => {}
            }
            if let Some(End::Fault(details)) = &self.end {
                return match last.is_some_and(|last| is_recorded_failure(details, last)) {
                    true => Ok(Agreement::finished()),
                    false => Err(self.disagreement(event, details.clone())),
                };
            }
        }
        self.settle();
        self.set_successor_aside();
        if let Some(End::Fault(details)) = self.end.take_if(|end| matches!(end, End::Fault(_))) {
            let known = last.is_some_and(|last| is_recorded_failure(&details, last));
            let text = details.display_message();
            return if known {
                Ok(Agreement::finished())
            } else {
                Err(Disagreement::of_text(text))
            };
        }
        let returned = returned.or_else(|| self.end.take());
        match last {
            Some(last) => self.compare_end(returned, last),
            None => self.compare_open(returned.is_some()),
        }
    }

    /// The history goes on: the code must hold what history says that it holds.
    fn compare_open(&self, returns_early: bool) -> Result<Agreement, Disagreement> {
        if self.cancel_reason.is_none()
            && let Some(text) = self.cancellation_mismatch()
        {
            return Err(Disagreement::of_text(text));
        }
        let calls_ahead = self.ctx.shared.state().emitted.len();
        Ok(Agreement { is_finished: false, calls_ahead, returns_early, ..Agreement::finished() })
    }

    fn compare_end(&self, returned: Option<End>, last: &Event) -> Result<Agreement, Disagreement> {
        if let EventKind::OrchestrationContinuedAsNew { input } = &last.kind {
            return match &self.continue_as_new {
                Some((next, _version)) if next == input => Ok(Agreement::finished()),
                Some((next, _version)) => Err(Disagreement::of_end(last, next)),
                None => Err(Disagreement::of_end(last, NOTHING)),
            };
        }
        let Some(recorded) = recorded_result(last) else { return Ok(Agreement::finished()) };
        match returned {
            Some(End::Returned(output)) if output.as_ref() == recorded => Ok(Agreement::finished()),
            Some(End::Returned(output)) => Err(Disagreement::of_end(last, &format!("{output:?}"))),
            Some(End::Fault(_)) | None => Err(Disagreement::of_end(last, NOTHING)),
        }
    }

    /// A decision to continue as new leaves no event until the end of its turn.
    fn set_successor_aside(&mut self) {
        let mut state = self.ctx.shared.state();
        while let Some((_, Action::ContinueAsNew { .. })) = state.emitted.front() {
            if let Some((_, Action::ContinueAsNew { input, version })) = state.emitted.pop_front() {
                self.continue_as_new.get_or_insert((input, version));
            }
        }
    }

    /// Notes what differs, if a check has asked for it.
    pub(super) fn note_mismatch(&mut self, requested: Option<(u64, &Action)>, field: &str) {
        let state = self.ctx.shared.state();
        let Some(sites) = &state.call_sites else { return };
        // If the code asks for nothing here, its last call is the nearest line.
        let call_site = match requested {
            Some((token, _)) => sites.get(&token).copied(),
            None => sites.iter().max_by_key(|(token, _)| **token).map(|(_, site)| *site),
        };
        let mismatch = Mismatch {
            requested: requested.map(|(_, action)| format!("{action:?}")),
            field: field.to_owned(),
            call_site,
        };
        drop(state);
        self.mismatch.get_or_insert_with(|| Box::new(mismatch));
    }

    fn disagreement(&mut self, event: &Event, details: ErrorDetails) -> Disagreement {
        let mismatch = self.mismatch.take();
        let (requested, field, call_site) = mismatch.map_or((None, String::new(), None), |found| {
            (found.requested, found.field, found.call_site)
        });
        Disagreement {
            event_id: Some(event.event_id),
            recorded: format!("{:?}", event.kind),
            requested: requested.unwrap_or_else(|| NOTHING.to_owned()),
            field,
            call_site,
            message: details.display_message(),
        }
    }
}

/// Part of the text of an execution that broke a limit. The code did not return that.
const LIMIT_TEXT: &str = "exceeds limit";

impl Agreement {
    const fn finished() -> Self {
        let patches = BTreeMap::new();
        let dropped_calls = Vec::new();
        Self { is_finished: true, calls_ahead: 0, returns_early: false, patches, dropped_calls }
    }
}

impl Disagreement {
    fn of_text(message: String) -> Self {
        Self {
            event_id: None,
            recorded: String::new(),
            requested: String::new(),
            field: String::new(),
            call_site: None,
            message,
        }
    }

    fn of_end(last: &Event, requested: &str) -> Self {
        Self {
            event_id: Some(last.event_id),
            recorded: format!("{:?}", last.kind),
            requested: requested.to_owned(),
            field: "result".to_owned(),
            call_site: None,
            message: "the code ends otherwise than history says".to_owned(),
        }
    }
}

/// What the code returned, if it did; not if the execution was cancelled, poisoned, or failed for
/// a reason outside of the code.
fn recorded_result(last: &Event) -> Option<Result<&String, &String>> {
    if let EventKind::OrchestrationCompleted { output } = &last.kind {
        return Some(Ok(output));
    }
    let EventKind::OrchestrationFailed { details } = &last.kind else { return None };
    let ErrorDetails::Application { kind: AppErrorKind::OrchestrationFailed, message, .. } =
        details
    else {
        return None;
    };
    (!message.contains(LIMIT_TEXT)).then_some(Err(message))
}

/// Whether the execution failed in the same way when it was recorded.
fn is_recorded_failure(details: &ErrorDetails, last: &Event) -> bool {
    let EventKind::OrchestrationFailed { details: recorded } = &last.kind else { return false };
    let panicked = |details: &ErrorDetails| {
        matches!(details, ErrorDetails::Application { kind: AppErrorKind::Panicked, .. })
    };
    let is_configuration =
        |details: &ErrorDetails| matches!(details, ErrorDetails::Configuration { .. });
    (panicked(details) && panicked(recorded))
        || (is_configuration(details) && is_configuration(recorded))
}
