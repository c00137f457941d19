//! The commit that ends an instance without its code.

use super::open_calls::{OpenCalls, Subscription};
use crate::model::cancel_reason::{CancellingParent, by_parent};
use crate::model::event::build_version;
use crate::model::start::{ParentCall, lost_start, unrun_start_kind};
use crate::model::{
    ErrorDetails, Event, EventKind, ExecutionStatus, INITIAL_EVENT_ID, INITIAL_EXECUTION_ID,
    WorkItem,
};
use crate::providers::{ExecutionMetadata, HeldInstance, TurnCommit};

/// Why the children of a terminated instance end.
pub(super) const PARENT_TERMINATED: &str = "parent terminated";

/// Why the children of a cancelled instance end, in the words of the engine.
const PARENT_CANCELLED: &str = "parent canceled";

/// Why the children of an instance end that no node could run.
const PARENT_STRANDED: &str = "parent failed: no live node could run it";

/// The reason that a cancelled activity has in the history, in the words of the engine.
const ACTIVITIES_REASON: &str = "orchestration_terminal_failed";

/// The reason that an open subscription has in the history, in the words of the engine.
const SUBSCRIPTIONS_REASON: &str = "orchestration_terminal";

/// Why an instance ends without its code.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum EndCause {
    /// An operator's call, with its reason.
    Terminated(String),
    /// A cancellation waits that no live node can process, with its reason.
    Cancelled(String),
    /// No live node could run it for too long: it fails with this.
    Stranded(ErrorDetails),
}

impl EndCause {
    /// The failure of the instance.
    pub(crate) fn details(&self) -> ErrorDetails {
        match self {
            Self::Terminated(reason) | Self::Cancelled(reason) => {
                ErrorDetails::cancelled(reason.as_str())
            }
            Self::Stranded(details) => details.clone(),
        }
    }

    /// The request in the history.
    fn request(&self) -> Option<EventKind> {
        match self {
            Self::Terminated(reason) | Self::Cancelled(reason) => {
                Some(EventKind::OrchestrationCancelRequested { reason: reason.clone() })
            }
            Self::Stranded(_) => None,
        }
    }

    fn children_reason(&self) -> &'static str {
        match self {
            Self::Terminated(_) => PARENT_TERMINATED,
            Self::Cancelled(_) => PARENT_CANCELLED,
            Self::Stranded(_) => PARENT_STRANDED,
        }
    }
}

/// An instance to be ended.
pub(super) struct Ending<'a> {
    pub(super) instance: &'a str,
    pub(super) held: &'a HeldInstance,
    /// Of the current execution.
    pub(super) open: &'a OpenCalls,
    pub(super) cause: &'a EndCause,
    /// The call that waits for the instance, with its execution.
    pub(super) parent: Option<&'a CancellingParent>,
    pub(super) now_ms: u64,
}

/// Where the last events of an instance go.
struct Place {
    execution_id: u64,
    /// The start of the execution, if it has none yet.
    start: Option<EventKind>,
    event_id: u64,
}

impl Ending<'_> {
    /// The commit; `None` if the execution that would end has no name.
    pub(super) fn commit(&self) -> Option<TurnCommit> {
        let place = self.place()?;
        let details = self.cause.details();
        let execution_id = place.execution_id;
        let is_new = place.start.is_some();
        let metadata = self.metadata(place.start.as_ref(), &details);
        let messages = self.messages(execution_id, is_new, &details);
        let mut events: Vec<Event> = Vec::new();
        let mut push = |source_event_id: Option<u64>, kind: EventKind| {
            events.push(Event {
                event_id: place.event_id.saturating_add(events.len() as u64),
                source_event_id,
                instance_id: self.instance.to_owned(),
                execution_id,
                timestamp_ms: self.now_ms,
                duroxide_version: build_version().to_owned(),
                kind,
            });
        };
        if let Some(start) = place.start {
            push(None, start);
        }
        if let Some(request) = self.cause.request() {
            push(None, request);
        }
        for (id, subscription) in self.open.subscriptions().filter(|_| !is_new) {
            let reason = SUBSCRIPTIONS_REASON.to_owned();
            push(
                Some(id),
                match subscription {
                    Subscription::Wait => EventKind::ExternalSubscribedCancelled { reason },
                    Subscription::Dequeue => EventKind::QueueSubscriptionCancelled { reason },
                },
            );
        }
        push(None, EventKind::OrchestrationFailed { details });
        for activity in self.open.activities.iter().filter(|_| !is_new) {
            let reason = ACTIVITIES_REASON.to_owned();
            push(Some(*activity), EventKind::ActivityCancelRequested { reason });
        }
        Some(
            TurnCommit::new(self.held.lock_token.clone(), execution_id)
                .with_metadata(metadata)
                .with_history_delta(events)
                .with_messages(self.instance, messages)
                .with_cancelled_activities(self.held.activities.clone()),
        )
    }

    fn place(&self) -> Option<Place> {
        let HeldInstance { execution_id, status, last_event_id, ref start, .. } = *self.held;
        let queued = start.as_ref().and_then(unrun_start_kind);
        let starting = |execution_id, start| {
            Some(Place { execution_id, start: Some(start), event_id: INITIAL_EVENT_ID })
        };
        match status {
            Some(ExecutionStatus::ContinuedAsNew) => {
                let start = queued.or_else(|| self.lost_successor())?;
                starting(execution_id.saturating_add(1), start)
            }
            None if last_event_id == 0 => starting(INITIAL_EXECUTION_ID, queued?),
            None
            | Some(
                ExecutionStatus::Running | ExecutionStatus::Completed | ExecutionStatus::Failed,
            ) => {
                Some(Place { execution_id, start: None, event_id: last_event_id.saturating_add(1) })
            }
        }
    }

    fn lost_successor(&self) -> Option<EventKind> {
        let EventKind::OrchestrationStarted { name, .. } = &self.open.start.as_ref()?.kind else {
            return None;
        };
        Some(lost_start(name.clone(), self.parent_call().as_ref()))
    }

    fn parent_call(&self) -> Option<ParentCall> {
        ParentCall::of_event(&self.open.start.as_ref()?.kind)
    }

    /// The row of a stored instance keeps its name.
    fn metadata(&self, start: Option<&EventKind>, details: &ErrorDetails) -> ExecutionMetadata {
        let mut metadata = ExecutionMetadata {
            status: Some(ExecutionStatus::Failed.as_str().to_owned()),
            output: Some(details.display_message()),
            ..ExecutionMetadata::default()
        };
        let seeded = self.open.start.as_ref().map(|start| &start.kind);
        let start = start.or(seeded.filter(|_| self.held.status.is_none()));
        if let Some(EventKind::OrchestrationStarted { name, version, parent_instance, .. }) = start
        {
            metadata.orchestration_name = Some(name.clone());
            metadata.orchestration_version = Some(version.clone());
            metadata.parent_instance_id = parent_instance.clone();
        }
        metadata
    }

    /// Cancels the children, so that they end even if this call does not get to them, and notifies
    /// the parent.
    fn messages(&self, execution_id: u64, is_new: bool, details: &ErrorDetails) -> Vec<WorkItem> {
        let children = self.open.children.iter().filter(|_| !is_new);
        let cancel = |(id, child): (&u64, &String)| {
            let caller = self.open.lineage.origin(execution_id, *id);
            let sender = CancellingParent(self.instance.to_owned(), caller, *id);
            let reason = by_parent(self.cause.children_reason(), &sender);
            WorkItem::CancelInstance { instance: child.clone(), reason }
        };
        let notice = self.parent.map(|CancellingParent(instance, execution_id, id)| {
            WorkItem::SubOrchFailed {
                parent_instance: instance.clone(),
                parent_execution_id: *execution_id,
                parent_id: *id,
                details: details.clone(),
            }
        });
        let others = self.open.other_children.iter().filter(|_| !is_new);
        let cancel_other = |child: &String| WorkItem::CancelInstance {
            instance: child.clone(),
            reason: self.cause.children_reason().to_owned(),
        };
        children.map(cancel).chain(others.map(cancel_other)).chain(notice).collect()
    }
}
