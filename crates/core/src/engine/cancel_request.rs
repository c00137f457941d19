//! Requests to end: the code may answer them until their deadline.
//!
//! The event that records a request is at the same time the schedule of a timer: the message that
//! brings its deadline names it, and becomes a cancellation.

use super::actions::Outgoing;
use super::execution::Execution;
use super::feed::wake_all;
use crate::model::cancel_request::SentCancelRequest;
use crate::model::{CancelRequest, Event, WorkItem};

/// The requests that an execution has recorded.
#[derive(Debug, Default)]
pub(super) struct CancelRequests {
    /// With their events, each with a sooner deadline than those before.
    recorded: Vec<(u64, CancelRequest)>,
    /// Calls of children that were asked too. Children that the code gives up afterwards are not
    /// cancelled: they end in their own way, and have the same deadline.
    asked_children: Vec<u64>,
}

impl CancelRequests {
    pub(super) fn has_asked(&self, call: u64) -> bool {
        self.asked_children.contains(&call)
    }

    /// The request that counts: the one that ends first.
    pub(super) fn latest(&self) -> Option<&CancelRequest> {
        self.recorded.last().map(|(_, request)| request)
    }

    fn with_event(&self, event_id: u64) -> Option<&CancelRequest> {
        let found = self.recorded.iter().find(|(recorded, _)| *recorded == event_id);
        found.map(|(_, request)| request)
    }
}

impl Execution {
    /// Records a request, unless an earlier one in force ends the execution as soon.
    pub(super) fn stage_cancel_request(&mut self, request: &CancelRequest) {
        let recorded = self.cancel_requests.latest();
        let staged = self.fresh.iter().filter_map(CancelRequest::of).next_back();
        let covers = |earlier: &CancelRequest| request.is_covered_by(earlier);
        if !(recorded.is_some_and(covers) || staged.as_ref().is_some_and(covers)) {
            self.push(None, request.to_kind());
        }
    }

    /// The reason to cancel, if a message brings the deadline of a request.
    pub(super) fn deadline_of_request(&self, message: &WorkItem) -> Option<String> {
        let WorkItem::TimerFired { execution_id, id, .. } = message else { return None };
        let is_own =
            *execution_id == self.execution_id() || self.lineage.covers(*execution_id, *id);
        let request = self.cancel_requests.with_event(*id).filter(|_| is_own)?;
        Some(request.reason.clone())
    }

    /// Shows a recorded request to the code.
    pub(super) fn show_cancel_request(&mut self, request: CancelRequest) {
        let wakers = self.ctx.shared.state().cancellation.request(request);
        wake_all(wakers);
        self.must_poll = true;
    }

    /// Notes a recorded request. A new one sets its deadline, and asks the children.
    pub(super) fn note_cancel_request(&mut self, event: &Event) {
        let Some(request) = CancelRequest::of(event) else { return };
        let children: Vec<(u64, String)> = {
            let open = self.ledger.children_in_flight().into_iter();
            open.map(|(call, child)| (call, child.to_owned())).collect()
        };
        if !self.ctx.is_replaying() {
            let deadline = request.deadline_ms.map(|fire_at_ms| WorkItem::TimerFired {
                instance: self.ctx.shared.instance_id.clone(),
                execution_id: self.execution_id(),
                id: event.event_id,
                fire_at_ms,
            });
            self.outgoing.extend(deadline.map(Outgoing::Orchestration));
            for (call, child) in &children {
                let ask = self.child_request(*call, child, request.clone());
                // Also if the code returns in this turn.
                self.outgoing.push(Outgoing::Detached(ask));
            }
        }
        let requests = &mut self.cancel_requests;
        requests.asked_children.extend(children.iter().map(|(call, _)| *call));
        requests.recorded.push((event.event_id, request));
    }

    fn child_request(&self, call: u64, child: &str, request: CancelRequest) -> WorkItem {
        let (instance, sender) = self.child_address(call, child);
        SentCancelRequest { request, parent: Some(sender) }.into_message(instance)
    }

    /// The request that the next execution of the instance gets.
    pub(super) fn carried_request(&self) -> Option<WorkItem> {
        let request = self.cancel_requests.latest()?.clone();
        let instance = self.ctx.shared.instance_id.clone();
        Some(SentCancelRequest { request, parent: None }.into_message(instance))
    }
}
