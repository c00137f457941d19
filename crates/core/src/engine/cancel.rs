//! Records dropped futures and cancels what they stood for.

use super::execution::Execution;
use super::feed::{DROPPED_FUTURE, wake_all};
use super::finish::Outbox;
use crate::context::drops::DropKind;
use crate::model::cancel_reason::{CancellingParent, by_parent};
use crate::model::{EventKind, WorkItem, build_child_instance_id};

const PARENT_DROPPED: &str = "parent dropped sub-orchestration future";

impl Execution {
    /// Describes the recorded drops that the code did not repeat, if there are any.
    pub(super) fn cancellation_mismatch(&self) -> Option<String> {
        let unrepeated = self.ctx.shared.state().drops.unrepeated();
        let (kind, _) = *unrepeated.first()?;
        let ids: Vec<u64> =
            unrepeated.iter().filter(|(of, _)| *of == kind).map(|(_, id)| *id).collect();
        Some(format!(
            "cancellation mismatch ({}): history says that the code dropped schedules {ids:?}, \
             the code still holds them",
            kind.plural()
        ))
    }

    /// Records every future that was dropped since the last turn.
    pub(super) fn record_drops(&mut self, outbox: &mut Outbox) {
        let unrecorded = self.ctx.shared.state().drops.unrecorded();
        for (kind, schedule_id) in unrecorded {
            let reason = DROPPED_FUTURE.to_owned();
            let event = match kind {
                DropKind::Activity => EventKind::ActivityCancelRequested { reason },
                DropKind::SubOrchestration => EventKind::SubOrchestrationCancelRequested { reason },
                DropKind::Wait => EventKind::ExternalSubscribedCancelled { reason },
                DropKind::Dequeue => EventKind::QueueSubscriptionCancelled { reason },
            };
            match kind {
                DropKind::Activity => outbox.cancelled_activities.push(schedule_id),
                DropKind::SubOrchestration => self.cancel_child(schedule_id, outbox),
                DropKind::Wait | DropKind::Dequeue => {}
            }
            self.push(Some(schedule_id), event);
            self.note_recorded_drop(kind, schedule_id);
        }
    }

    fn note_recorded_drop(&mut self, kind: DropKind, schedule_id: u64) {
        if let Some(event) = self.fresh.last() {
            self.ledger.record(event);
        }
        let mut state = self.ctx.shared.state();
        state.drops.record(kind, schedule_id);
        let waker = state.cancel_subscription(kind, schedule_id);
        drop(state);
        wake_all(waker);
    }

    /// A child that has already completed needs no cancellation, and one that was asked to end ends
    /// in its own way.
    fn cancel_child(&self, schedule_id: u64, outbox: &mut Outbox) {
        if self.cancel_requests.has_asked(schedule_id) {
            return;
        }
        if let Some(child) = self.ledger.child(schedule_id) {
            let cancel = self.child_cancel(schedule_id, &child.instance, PARENT_DROPPED);
            outbox.child_cancels.push((schedule_id, cancel));
        }
    }

    /// The message that cancels a child. It names this call: an explicit id may belong to an
    /// instance that is not its child.
    pub(super) fn child_cancel(&self, schedule_id: u64, child: &str, reason: &str) -> WorkItem {
        let (instance, sender) = self.child_address(schedule_id, child);
        WorkItem::CancelInstance { instance, reason: by_parent(reason, &sender) }
    }

    /// The instance of a child, and this call of it.
    pub(super) fn child_address(
        &self,
        schedule_id: u64,
        child: &str,
    ) -> (String, CancellingParent) {
        let parent = self.ctx.shared.instance_id.clone();
        let instance = build_child_instance_id(&parent, child);
        // A child of a mended execution knows the one that started it.
        let caller = self.lineage.origin(self.execution_id(), schedule_id);
        (instance, CancellingParent(parent, caller, schedule_id))
    }
}
