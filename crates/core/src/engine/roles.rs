//! What an event means for the engine.

use crate::model::EventKind;
use crate::model::patch::is_marker_name;

/// The kind of a schedule that an answer completes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Schedule {
    Activity,
    Timer,
    SubOrchestration,
    Wait,
    Dequeue,
}

impl Schedule {
    /// The word of nondeterminism texts.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Activity => "activity",
            Self::Timer => "timer",
            Self::SubOrchestration => "suborchestration",
            Self::Wait => "external",
            Self::Dequeue => "persistent",
        }
    }
}

/// The role of an event. Rules that do not need the event's data match on this, so that a new kind
/// of event is classified once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// A message from outside: a start, a signal, a queue message, a request to cancel.
    Message,
    /// A message that answers a schedule.
    Answer(Schedule),
    /// A request of the code that stays open until it is answered.
    Scheduled(Schedule),
    /// The start of an orchestration that has no answer.
    Detached,
    /// A change of the custom status or of the key-value state, with the word of nondeterminism
    /// texts.
    StateChange(&'static str),
    /// A patch that the code has adopted.
    Marker,
    /// The code gave up a schedule.
    GivenUp(Schedule),
    /// The last event of an execution.
    Last,
}

impl Role {
    pub(super) fn of(kind: &EventKind) -> Self {
        match kind {
            EventKind::ExternalEvent { name, .. } if is_marker_name(name) => Self::Marker,
            EventKind::OrchestrationStarted { .. }
            | EventKind::ExternalEvent { .. }
            | EventKind::QueueEventDelivered { .. }
            | EventKind::OrchestrationCancelRequested { .. } => Self::Message,
            #[cfg(feature = "replay-version-test")]
            EventKind::ExternalEvent2 { .. } => Self::Message,

            EventKind::ActivityCompleted { .. } | EventKind::ActivityFailed { .. } => {
                Self::Answer(Schedule::Activity)
            }
            EventKind::TimerFired { .. } => Self::Answer(Schedule::Timer),
            EventKind::SubOrchestrationCompleted { .. }
            | EventKind::SubOrchestrationFailed { .. } => Self::Answer(Schedule::SubOrchestration),

            EventKind::ActivityScheduled { .. } => Self::Scheduled(Schedule::Activity),
            EventKind::TimerCreated { .. } => Self::Scheduled(Schedule::Timer),
            EventKind::SubOrchestrationScheduled { .. } => {
                Self::Scheduled(Schedule::SubOrchestration)
            }
            EventKind::ExternalSubscribed { .. } => Self::Scheduled(Schedule::Wait),
            #[cfg(feature = "replay-version-test")]
            EventKind::ExternalSubscribed2 { .. } => Self::Scheduled(Schedule::Wait),
            EventKind::QueueSubscribed { .. } => Self::Scheduled(Schedule::Dequeue),

            EventKind::OrchestrationChained { .. } => Self::Detached,
            EventKind::CustomStatusUpdated { .. } => Self::StateChange("custom status"),
            EventKind::KeyValueSet { .. } => Self::StateChange("kv set"),
            EventKind::KeyValueCleared { .. } => Self::StateChange("kv clear"),
            EventKind::KeyValuesCleared => Self::StateChange("kv clear_all"),

            EventKind::ActivityCancelRequested { .. } => Self::GivenUp(Schedule::Activity),
            EventKind::SubOrchestrationCancelRequested { .. } => {
                Self::GivenUp(Schedule::SubOrchestration)
            }
            EventKind::ExternalSubscribedCancelled { .. } => Self::GivenUp(Schedule::Wait),
            EventKind::QueueSubscriptionCancelled { .. } => Self::GivenUp(Schedule::Dequeue),

            EventKind::OrchestrationCompleted { .. }
            | EventKind::OrchestrationFailed { .. }
            | EventKind::OrchestrationContinuedAsNew { .. } => Self::Last,
        }
    }

    /// Whether the event was a message.
    pub(super) fn is_message(self) -> bool {
        match self {
            Self::Message | Self::Answer(_) => true,
            Self::Scheduled(_)
            | Self::Detached
            | Self::StateChange(_)
            | Self::Marker
            | Self::GivenUp(_)
            | Self::Last => false,
        }
    }

    /// Whether the event records what the code asked for.
    pub(super) fn is_request(self) -> bool {
        match self {
            Self::Scheduled(_) | Self::Detached | Self::StateChange(_) => true,
            Self::Message | Self::Answer(_) | Self::Marker | Self::GivenUp(_) | Self::Last => false,
        }
    }
}
