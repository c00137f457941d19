//! The result of a turn.

use tracing::warn;

use super::actions::Outgoing;
use super::execution::{End, Execution};
use super::roles::Schedule;
use super::turn::{Turn, TurnResult};
use crate::limits::MAX_CARRY_FORWARD_EVENTS;
use crate::model::{ErrorDetails, EventKind, WorkItem};

const SUBSCRIPTION_ENDED: &str = "orchestration_terminal";
const PARENT_CANCELLED: &str = "parent canceled";

/// Cancellations that a turn sends out.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    /// Schedule ids.
    pub(super) cancelled_activities: Vec<u64>,
    /// Schedule ids and messages.
    pub(super) child_cancels: Vec<(u64, WorkItem)>,
}

/// How an execution ends: its last event, why activities are cancelled, the message for the parent.
struct Ending {
    event: EventKind,
    activities_reason: &'static str,
    result: TurnResult,
    parent_notice: Option<Result<String, ErrorDetails>>,
}

impl Execution {
    /// Decides the result of the turn. Faults come first, then broken limits, cancellation,
    /// continue-as-new, and the code's own return. Everything from event `inbox_end` on is what the
    /// code asked for in this turn.
    pub(super) fn finish(&mut self, inbox_end: u64) -> Turn {
        if let Some(details) = self.failure() {
            return match self.cancel_reason.clone().filter(|_| self.cancels_in_spite_of_fault()) {
                Some(reason) => self.cancelled_unreplayed(reason, inbox_end),
                None => self.fail(details, inbox_end),
            };
        }
        if let Some(reason) = self.cancel_reason.clone() {
            return self.cancelled(reason, inbox_end);
        }
        if let Some((input, version)) = self.continue_as_new.take() {
            return self.continued(input, version, inbox_end);
        }
        if let Some(text) = self.cancellation_mismatch() {
            self.disagrees = true;
            return self.fail(ErrorDetails::nondeterminism(text), inbox_end);
        }
        // The events of dropped futures wake no code: a dropped subscription released its value
        // when it was dropped, and one that was dropped before it was recorded had none.
        let mut outbox = Outbox::default();
        self.record_drops(&mut outbox);
        if self.end.is_none() && self.awaits_nothing_durable() {
            self.fault_foreign_wake();
        }
        match self.end.take() {
            Some(End::Returned(Ok(output))) => self.completed(output, inbox_end, outbox),
            Some(End::Returned(Err(message))) => {
                let details = ErrorDetails::orchestration_failed(message);
                self.end_with(Ending::failed(details), inbox_end, outbox)
            }
            Some(End::Fault(details)) => self.fail(details, inbox_end),
            None => self.waiting(outbox),
        }
    }

    /// Whether a cancellation counts more than the disagreement of code and history. Under the
    /// older rules the disagreement fails the execution.
    fn cancels_in_spite_of_fault(&self) -> bool {
        self.disagrees && self.ctx.shared.state().rules.wake_driven
    }

    /// Cancels an execution whose code cannot be run: the history names its children and its
    /// activities.
    fn cancelled_unreplayed(&mut self, reason: String, inbox_end: u64) -> Turn {
        self.disagrees = false;
        self.forget_asked(inbox_end);
        self.cancelled(reason, inbox_end)
    }

    /// Whether only something outside the engine could ever wake the code. The turn fails at once:
    /// the wake-up may never come, because an execution that leaves the memory drops its timers.
    fn awaits_nothing_durable(&self) -> bool {
        let wake_driven = self.ctx.shared.state().rules.wake_driven;
        let awaits_request = self.ctx.shared.state().cancellation.is_awaited();
        wake_driven && self.ledger.is_settled() && !awaits_request && self.waker.is_held_elsewhere()
    }

    fn failure(&mut self) -> Option<ErrorDetails> {
        if self.waker.was_woken_from_outside() {
            self.fault_foreign_wake();
        }
        if let Some(End::Fault(details)) = &self.end {
            return Some(details.clone());
        }
        self.broken_limit().map(ErrorDetails::orchestration_failed)
    }

    fn waiting(&mut self, outbox: Outbox) -> Turn {
        let mut worker_items = Vec::new();
        let mut orchestrator_items = Vec::new();
        for message in std::mem::take(&mut self.outgoing) {
            match message {
                Outgoing::Activity(item) => worker_items.push(item),
                Outgoing::Orchestration(item) | Outgoing::Detached(item) => {
                    orchestrator_items.push(item);
                }
            }
        }
        orchestrator_items.extend(outbox.child_cancels.into_iter().map(|(_, message)| message));
        Turn {
            events: std::mem::take(&mut self.fresh),
            worker_items,
            orchestrator_items,
            cancelled_activities: outbox.cancelled_activities,
            start_limits: std::mem::take(&mut self.start_limits),
            answered_calls: std::mem::take(&mut self.answered_calls),
            result: TurnResult::Continue,
        }
    }

    fn completed(&mut self, output: String, inbox_end: u64, outbox: Outbox) -> Turn {
        let ending = Ending {
            event: EventKind::OrchestrationCompleted { output: output.clone() },
            activities_reason: "orchestration_terminal_completed",
            result: TurnResult::Completed(output.clone()),
            parent_notice: Some(Ok(output)),
        };
        self.end_with(ending, inbox_end, outbox)
    }

    /// Fails for a fault: nothing that the code asked for or dropped in this turn is recorded or
    /// sent.
    fn fail(&mut self, details: ErrorDetails, inbox_end: u64) -> Turn {
        self.forget_asked(inbox_end);
        self.end_with(Ending::failed(details), inbox_end, Outbox::default())
    }

    /// Forgets what the code asked for in this turn.
    fn forget_asked(&mut self, inbox_end: u64) {
        self.fresh.retain(|event| event.event_id < inbox_end);
        self.event_id_next = inbox_end;
        self.ledger.truncate(inbox_end);
        self.outgoing.clear();
    }

    fn cancelled(&mut self, reason: String, inbox_end: u64) -> Turn {
        let mut outbox = Outbox::default();
        for (id, child) in self.ledger.children_in_flight() {
            outbox.child_cancels.push((id, self.child_cancel(id, child, PARENT_CANCELLED)));
        }
        let details = ErrorDetails::cancelled(reason.as_str());
        let ending = Ending { result: TurnResult::Cancelled { reason }, ..Ending::failed(details) };
        self.end_with(ending, inbox_end, outbox)
    }

    fn continued(&mut self, input: String, version: Option<String>, inbox_end: u64) -> Turn {
        let successor = self.successor(input.clone(), version);
        let ending = Ending {
            event: EventKind::OrchestrationContinuedAsNew { input: input.clone() },
            activities_reason: "orchestration_terminal_continued_as_new",
            result: TurnResult::ContinueAsNew { input },
            parent_notice: None,
        };
        let mut turn = self.end_with(ending, inbox_end, Outbox::default());
        turn.orchestrator_items.push(successor);
        // The next execution is asked, too; its deadline is the same.
        turn.orchestrator_items.extend(self.carried_request());
        turn
    }

    fn successor(&self, input: String, version: Option<String>) -> WorkItem {
        let state = self.ctx.shared.state();
        let carry_forward_events = if state.rules.early_race {
            state.queues.unread()
        } else {
            state.queues.beyond_subscriptions()
        };
        if carry_forward_events.len() > MAX_CARRY_FORWARD_EVENTS {
            warn!(
                target: "duroxide::runtime",
                instance_id = %self.ctx.shared.instance_id,
                execution_id = self.execution_id(),
                carried = carry_forward_events.len(),
                "carrying more than {MAX_CARRY_FORWARD_EVENTS} unread messages into the next \
                 execution"
            );
        }
        WorkItem::ContinueAsNew {
            instance: self.ctx.shared.instance_id.clone(),
            orchestration: self.ctx.shared.orchestration_name.clone(),
            input,
            version,
            parent_instance: self.parent.as_ref().map(|parent| parent.instance.clone()),
            parent_id: self.parent.as_ref().map(|parent| parent.id),
            parent_execution_id: self.parent.as_ref().map(|parent| parent.execution_id),
            carry_forward_events,
            initial_custom_status: state.custom_status.clone(),
        }
    }

    /// Closes open subscriptions, records the end, cancels activities and notifies the parent. Of
    /// what the code asked for in this turn, only detached starts outlive the execution.
    fn end_with(&mut self, ending: Ending, inbox_end: u64, mut outbox: Outbox) -> Turn {
        self.over = true;
        if let Some(last) = self.fresh.last() {
            // Continue-as-new took a number of its own; the ending follows the last real event.
            self.event_id_next = last.event_id + 1;
        }
        self.close_subscriptions();
        self.push(None, ending.event);
        for id in self.ledger.activities_in_flight() {
            let reason = ending.activities_reason.to_owned();
            self.push(Some(id), EventKind::ActivityCancelRequested { reason });
            outbox.cancelled_activities.push(id);
        }
        let mut orchestrator_items = Vec::new();
        for message in std::mem::take(&mut self.outgoing) {
            match message {
                Outgoing::Detached(item) => orchestrator_items.push(item),
                Outgoing::Activity(_) | Outgoing::Orchestration(_) => {}
            }
        }
        // A child of this turn was never started and needs no cancellation.
        let started = outbox.child_cancels.into_iter().filter(|(id, _)| *id < inbox_end);
        orchestrator_items.extend(started.map(|(_, message)| message));
        orchestrator_items.extend(ending.parent_notice.and_then(|notice| self.notify(notice)));
        Turn {
            events: std::mem::take(&mut self.fresh),
            worker_items: Vec::new(),
            orchestrator_items,
            cancelled_activities: outbox.cancelled_activities,
            start_limits: Vec::new(),
            answered_calls: std::mem::take(&mut self.answered_calls),
            result: ending.result,
        }
    }

    fn close_subscriptions(&mut self) {
        for (id, schedule) in self.ledger.open_subscriptions() {
            let has_arrival = {
                let state = self.ctx.shared.state();
                state.waits.has_arrival(id) || state.queues.has_arrival(id)
            };
            if has_arrival {
                continue;
            }
            let reason = SUBSCRIPTION_ENDED.to_owned();
            match schedule {
                Schedule::Wait => {
                    self.push(Some(id), EventKind::ExternalSubscribedCancelled { reason });
                }
                Schedule::Dequeue => {
                    self.push(Some(id), EventKind::QueueSubscriptionCancelled { reason });
                }
                Schedule::Activity | Schedule::Timer | Schedule::SubOrchestration => {}
            }
        }
    }

    fn notify(&self, notice: Result<String, ErrorDetails>) -> Option<WorkItem> {
        let parent = self.parent.clone()?;
        Some(match notice {
            Ok(result) => WorkItem::SubOrchCompleted {
                parent_instance: parent.instance,
                parent_execution_id: parent.execution_id,
                parent_id: parent.id,
                result,
            },
            Err(details) => WorkItem::SubOrchFailed {
                parent_instance: parent.instance,
                parent_execution_id: parent.execution_id,
                parent_id: parent.id,
                details,
            },
        })
    }
}

impl Ending {
    fn failed(details: ErrorDetails) -> Self {
        Self {
            event: EventKind::OrchestrationFailed { details: details.clone() },
            activities_reason: "orchestration_terminal_failed",
            result: TurnResult::Failed(details.clone()),
            parent_notice: Some(Err(details)),
        }
    }
}
