//! Messages become events.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use tracing::{debug, warn};

use super::execution::{End, Execution};
use super::roles::Schedule;
use super::turn::AnsweredCall;
use super::waker::FOREIGN_WAKE_SIGNAL;
use crate::model::cancel_request::{CANCEL_REQUESTED, SentCancelRequest};
use crate::model::edit::{EDIT_MESSAGE, EDITED, InstanceEdit, is_of_edit};
use crate::model::event::build_version;
use crate::model::patch::is_marker_name;
use crate::model::stored_attribute::{ATTRIBUTES_MESSAGE, attribute_key};
use crate::model::{ErrorDetails, Event, EventKind, INITIAL_EVENT_ID, WorkItem, cancel_reason};

/// An answer to a schedule.
struct Answer {
    /// The execution that scheduled it.
    execution_id: u64,
    /// The schedule event.
    id: u64,
    schedule: Schedule,
    kind: EventKind,
}

impl Execution {
    /// Turns the messages of this turn into numbered events, in queue order. An invalid message
    /// faults the execution; the others are still recorded.
    pub(super) fn stage(&mut self, messages: Vec<WorkItem>) {
        let mut answered = HashSet::new();
        let mut cancelled = self.cancel_reason.is_some();
        for message in messages {
            match message {
                WorkItem::ExternalRaised { name, data, .. } if name == FOREIGN_WAKE_SIGNAL => {
                    // The wake-up may be of an earlier execution of the instance.
                    if data == self.execution_id().to_string() {
                        self.fault_foreign_wake();
                    }
                }
                WorkItem::ExternalRaised { ref name, ref data, .. } if name == CANCEL_REQUESTED => {
                    match SentCancelRequest::of_signal(name, data) {
                        Some(_) if cancelled => {}
                        Some(sent) => self.stage_cancel_request(&sent.request),
                        None => self.warn_dropped(&message, "is no request"),
                    }
                }
                WorkItem::ExternalRaised { ref name, .. } if is_marker_name(name) => {
                    self.warn_dropped(&message, "has a reserved name");
                }
                WorkItem::ExternalRaised { name, data, .. } => {
                    self.push(None, EventKind::ExternalEvent { name, data });
                }
                // Unlike the signal above, it is recorded only if a wait for it is.
                #[cfg(feature = "replay-version-test")]
                WorkItem::ExternalRaised2 { name, topic, data, .. } => {
                    let lane = crate::context::topic_lane(&name, &topic);
                    if self.ctx.shared.state().waits.has_open_position(&lane) {
                        self.push(None, EventKind::ExternalEvent2 { name, topic, data });
                    }
                }
                WorkItem::QueueMessage { name, data, .. } if name == ATTRIBUTES_MESSAGE => {
                    self.stage_attributes(&data);
                }
                WorkItem::QueueMessage { ref name, ref data, .. } if name == EDIT_MESSAGE => {
                    match self.accepted_edit(data) {
                        Ok(edit) => self.stage_edit(edit),
                        Err(refusal) => self.warn_dropped(&message, &refusal),
                    }
                }
                WorkItem::QueueMessage { name, data, .. } => {
                    self.push(None, EventKind::QueueEventDelivered { name, data });
                }
                WorkItem::CancelInstance { reason, .. } => {
                    let reason = cancel_reason::split(&reason).0.to_owned();
                    self.stage_cancellation(reason, &mut cancelled);
                }
                WorkItem::TimerFired { .. } => match self.deadline_of_request(&message) {
                    Some(reason) => self.stage_cancellation(reason, &mut cancelled),
                    None => self.stage_answer(message, &mut answered),
                },
                WorkItem::StartOrchestration { .. }
                | WorkItem::ContinueAsNew { .. }
                | WorkItem::ActivityExecute { .. } => {
                    self.warn_dropped(&message, "is not a message of a running execution");
                }
                WorkItem::ActivityCompleted { .. }
                | WorkItem::ActivityFailed { .. }
                | WorkItem::SubOrchCompleted { .. }
                | WorkItem::SubOrchFailed { .. } => self.stage_answer(message, &mut answered),
            }
        }
    }

    /// The first cancellation counts.
    fn stage_cancellation(&mut self, reason: String, cancelled: &mut bool) {
        if !std::mem::replace(cancelled, true) {
            self.push(None, EventKind::OrchestrationCancelRequested { reason });
        }
    }

    /// The attributes of a start become events of its first turn. They name the start as their
    /// source, because the code did not ask for them.
    fn stage_attributes(&mut self, data: &str) {
        let Ok(attributes) = serde_json::from_str::<BTreeMap<String, String>>(data) else { return };
        for (name, value) in attributes {
            let (key, last_updated_at_ms) = (attribute_key(&name), self.now_ms);
            let kind = EventKind::KeyValueSet { key, value, last_updated_at_ms };
            self.push(Some(INITIAL_EVENT_ID), kind);
        }
    }

    /// An edit that keeps the limits of the instance, which a client has checked at another time.
    fn accepted_edit(&self, data: &str) -> Result<InstanceEdit, String> {
        let edit: InstanceEdit =
            serde_json::from_str(data).map_err(|error| format!("is no edit: {error}"))?;
        // Earlier edits of the same turn count.
        let mut keys: BTreeSet<&str> = BTreeSet::new();
        let state = self.ctx.shared.state();
        keys.extend(state.kv.keys().map(String::as_str));
        for event in &self.fresh {
            if let EventKind::KeyValueSet { key, .. } = &event.kind
                && is_of_edit(event)
            {
                keys.insert(key);
            }
        }
        match edit.refusal(|key| keys.contains(key), keys.len()) {
            Some(refusal) => Err(refusal),
            None => Ok(edit),
        }
    }

    fn stage_edit(&mut self, edit: InstanceEdit) {
        let kind = EventKind::ExternalEvent { name: EDITED.to_owned(), data: edit.to_data() };
        let marker = self.push(None, kind);
        for change in edit.changes(self.now_ms) {
            self.push(Some(marker), change);
        }
    }

    fn stage_answer(&mut self, message: WorkItem, answered: &mut HashSet<u64>) {
        let described = message.variant_name();
        let Some(answer) = Answer::of(message) else { return };
        if answer.execution_id != self.execution_id()
            && !self.lineage.covers(answer.execution_id, answer.id)
        {
            return self.log_foreign_answer(described, &answer);
        }
        let Some(entry) = self.ledger.get(answer.id) else {
            let what = match answer.schedule {
                Schedule::Timer => "timer",
                Schedule::SubOrchestration => "sub-orchestration",
                Schedule::Activity | Schedule::Wait | Schedule::Dequeue => "completion",
            };
            return self.fault(format!(
                "no matching schedule for {what} id={}: {described} arrived, \
                 history has no such schedule",
                answer.id
            ));
        };
        if entry.schedule != answer.schedule {
            return self.fault(format!(
                "completion kind mismatch for id={}, expected '{}', got '{}'",
                answer.id,
                entry.schedule.word(),
                answer.schedule.word()
            ));
        }
        if !entry.open || !answered.insert(answer.id) {
            warn!(
                target: "duroxide::runtime",
                instance_id = %self.ctx.shared.instance_id,
                execution_id = self.execution_id(),
                work_item = described,
                schedule_id = answer.id,
                "dropped a second answer to the same schedule"
            );
            return;
        }
        self.abort_for_system_failure(&answer.kind);
        if answer.schedule == Schedule::SubOrchestration {
            self.note_answered_call(&answer);
        }
        self.push(Some(answer.id), answer.kind);
    }

    fn note_answered_call(&mut self, answer: &Answer) {
        let Some(child) = self.ledger.child(answer.id) else { return };
        let millis = self.now_ms.saturating_sub(child.scheduled_at_ms);
        self.answered_calls.push(AnsweredCall {
            child: child.name.clone(),
            duration: Duration::from_millis(millis),
            is_success: matches!(answer.kind, EventKind::SubOrchestrationCompleted { .. }),
        });
    }

    /// Failures that are not the application's end the orchestration with the same details; its
    /// code must not be able to catch them.
    fn abort_for_system_failure(&mut self, kind: &EventKind) {
        use EventKind::{ActivityFailed, SubOrchestrationFailed};
        let (ActivityFailed { details } | SubOrchestrationFailed { details }) = kind else {
            return;
        };
        let is_system = match details {
            ErrorDetails::Infrastructure { .. }
            | ErrorDetails::Configuration { .. }
            | ErrorDetails::Poison { .. } => true,
            ErrorDetails::Application { .. } => false,
        };
        if is_system && self.end.is_none() {
            self.end = Some(End::Fault(details.clone()));
        }
    }

    pub(super) fn fault_foreign_wake(&mut self) {
        self.fault(format!(
            "orchestration '{}' awaits something that is not durable (a runtime timer, a channel, \
             a spawned task) and can only be woken from outside the engine; use the timers, \
             activities and events of its context instead",
            self.ctx.shared.orchestration_name
        ));
    }

    fn log_foreign_answer(&self, described: &'static str, answer: &Answer) {
        macro_rules! log_answer {
            ($level:ident) => {
                $level!(
                    target: "duroxide::runtime",
                    instance_id = %self.ctx.shared.instance_id,
                    execution_id = self.execution_id(),
                    work_item = described,
                    for_execution = answer.execution_id,
                    "dropped an answer for another execution"
                )
            };
        }
        match answer.schedule {
            // An execution that continued as new leaves its open timers behind, as it should.
            Schedule::Timer => log_answer!(debug),
            Schedule::Activity
            | Schedule::SubOrchestration
            | Schedule::Wait
            | Schedule::Dequeue => log_answer!(warn),
        }
    }

    fn warn_dropped(&self, message: &WorkItem, why: &str) {
        warn!(
            target: "duroxide::runtime",
            instance_id = %self.ctx.shared.instance_id,
            work_item = message.variant_name(),
            why,
            "dropped a message"
        );
    }

    /// Appends an event to this turn and returns its id.
    pub(super) fn push(&mut self, source_event_id: Option<u64>, kind: EventKind) -> u64 {
        let event_id = self.event_id_next;
        self.event_id_next += 1;
        self.fresh.push(Event {
            event_id,
            source_event_id,
            instance_id: self.ctx.shared.instance_id.clone(),
            execution_id: self.execution_id(),
            timestamp_ms: self.now_ms,
            duroxide_version: build_version().to_owned(),
            kind,
        });
        event_id
    }
}

impl Answer {
    fn of(message: WorkItem) -> Option<Self> {
        let (execution_id, id, schedule, kind) = match message {
            WorkItem::ActivityCompleted { execution_id, id, result, .. } => {
                (execution_id, id, Schedule::Activity, EventKind::ActivityCompleted { result })
            }
            WorkItem::ActivityFailed { execution_id, id, details, .. } => {
                (execution_id, id, Schedule::Activity, EventKind::ActivityFailed { details })
            }
            WorkItem::TimerFired { execution_id, id, fire_at_ms, .. } => {
                (execution_id, id, Schedule::Timer, EventKind::TimerFired { fire_at_ms })
            }
            WorkItem::SubOrchCompleted { parent_execution_id, parent_id, result, .. } => (
                parent_execution_id,
                parent_id,
                Schedule::SubOrchestration,
                EventKind::SubOrchestrationCompleted { result },
            ),
            WorkItem::SubOrchFailed { parent_execution_id, parent_id, details, .. } => (
                parent_execution_id,
                parent_id,
                Schedule::SubOrchestration,
                EventKind::SubOrchestrationFailed { details },
            ),
            WorkItem::StartOrchestration { .. }
            | WorkItem::ActivityExecute { .. }
            | WorkItem::ExternalRaised { .. }
            | WorkItem::CancelInstance { .. }
            | WorkItem::ContinueAsNew { .. }
            | WorkItem::QueueMessage { .. } => return None,
            #[cfg(feature = "replay-version-test")]
            WorkItem::ExternalRaised2 { .. } => return None,
        };
        Some(Self { execution_id, id, schedule, kind })
    }
}
