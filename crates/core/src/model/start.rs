//! What a message says that starts an execution.

use super::{EventKind, WorkItem};

/// The version in a start event that exists only to record a failure.
pub(crate) const VERSION_UNKNOWN: &str = "unknown";

/// The call of a parent; the execution is unknown in data written before 0.1.30.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParentCall {
    pub(crate) instance: String,
    pub(crate) id: u64,
    pub(crate) execution_id: Option<u64>,
}

impl ParentCall {
    pub(crate) fn of(
        instance: Option<&String>,
        id: Option<u64>,
        execution_id: Option<u64>,
    ) -> Option<Self> {
        Some(Self { instance: instance?.clone(), id: id?, execution_id })
    }

    /// The parent that waits for the execution of a start event.
    pub(crate) fn of_event(kind: &EventKind) -> Option<Self> {
        let EventKind::OrchestrationStarted {
            parent_instance, parent_id, parent_execution_id, ..
        } = kind
        else {
            return None;
        };
        Self::of(parent_instance.as_ref(), *parent_id, *parent_execution_id)
    }

    /// The parent that waits for a start.
    pub(crate) fn of_message(message: &WorkItem) -> Option<Self> {
        let start = Start::of(message)?;
        Self::of(start.parent_instance, start.parent_id, start.parent_execution_id)
    }
}

/// What both kinds of starts say.
struct Start<'a> {
    orchestration: &'a str,
    version: Option<&'a str>,
    input: &'a str,
    parent_instance: Option<&'a String>,
    parent_id: Option<u64>,
    parent_execution_id: Option<u64>,
    is_continuation: bool,
    /// Unread queue messages and the custom status, which a continuation carries.
    carried: &'a [(String, String)],
    status: Option<&'a String>,
}

impl<'a> Start<'a> {
    /// `None` for a message that starts nothing.
    fn of(message: &'a WorkItem) -> Option<Self> {
        match message {
            WorkItem::StartOrchestration {
                orchestration,
                version,
                input,
                parent_instance,
                parent_id,
                parent_execution_id,
                ..
            } => Some(Self {
                orchestration,
                version: version.as_deref(),
                input,
                parent_instance: parent_instance.as_ref(),
                parent_id: *parent_id,
                parent_execution_id: *parent_execution_id,
                is_continuation: false,
                carried: &[],
                status: None,
            }),
            WorkItem::ContinueAsNew {
                orchestration,
                version,
                input,
                parent_instance,
                parent_id,
                parent_execution_id,
                carry_forward_events,
                initial_custom_status,
                ..
            } => Some(Self {
                orchestration,
                version: version.as_deref(),
                input,
                parent_instance: parent_instance.as_ref(),
                parent_id: *parent_id,
                parent_execution_id: *parent_execution_id,
                is_continuation: true,
                carried: carry_forward_events,
                status: initial_custom_status.as_ref(),
            }),
            WorkItem::ActivityExecute { .. }
            | WorkItem::ActivityCompleted { .. }
            | WorkItem::ActivityFailed { .. }
            | WorkItem::TimerFired { .. }
            | WorkItem::ExternalRaised { .. }
            | WorkItem::SubOrchCompleted { .. }
            | WorkItem::SubOrchFailed { .. }
            | WorkItem::CancelInstance { .. }
            | WorkItem::QueueMessage { .. } => None,
            #[cfg(feature = "replay-version-test")]
            WorkItem::ExternalRaised2 { .. } => None,
        }
    }
}

/// The code that a start message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: Option<&'a str>,
}

impl<'a> Wanted<'a> {
    /// Name and version that a start message asks for; `None` for any other message.
    pub(crate) fn of(start: &'a WorkItem) -> Option<Self> {
        let Start { orchestration: name, version, .. } = Start::of(start)?;
        Some(Self { name, version })
    }
}

/// The first event of an execution that ends before any code of it ran: its version is the one
/// that the message asks for, if it names one.
pub(crate) fn unrun_start_kind(start: &WorkItem) -> Option<EventKind> {
    let version = Wanted::of(start)?.version.unwrap_or(VERSION_UNKNOWN);
    start_kind(start, version.to_owned())
}

/// The first event of the execution that a message starts, with the resolved version.
pub(crate) fn start_kind(start: &WorkItem, version: String) -> Option<EventKind> {
    let start = Start::of(start)?;
    // Of a detached start, the message alone names the execution that sent it.
    let is_called = start.is_continuation || start.parent_instance.is_some();
    Some(EventKind::OrchestrationStarted {
        name: start.orchestration.to_owned(),
        version,
        input: start.input.to_owned(),
        parent_instance: start.parent_instance.cloned(),
        parent_id: start.parent_id,
        parent_execution_id: start.parent_execution_id.filter(|_| is_called),
        carry_forward_events: Some(start.carried.to_vec()).filter(|carried| !carried.is_empty()),
        initial_custom_status: start.status.cloned(),
    })
}

/// The start of an execution whose own start is lost: it keeps the name and the parent of the
/// execution before.
pub(crate) fn lost_start(name: String, parent: Option<&ParentCall>) -> EventKind {
    EventKind::OrchestrationStarted {
        name,
        version: VERSION_UNKNOWN.to_owned(),
        input: String::new(),
        parent_instance: parent.map(|parent| parent.instance.clone()),
        parent_id: parent.map(|parent| parent.id),
        parent_execution_id: parent.and_then(|parent| parent.execution_id),
        carry_forward_events: None,
        initial_custom_status: None,
    }
}
