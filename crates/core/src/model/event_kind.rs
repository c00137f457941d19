//! Everything that can be recorded in a history.

use serde::{Deserialize, Serialize};

#[cfg(feature = "replay-version-test")]
use super::acting_version::text_of_version_two;
use super::{ErrorDetails, ExecutionStatus};

/// What an [`Event`](super::Event) records. Tags, keys and their order are a stored format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum EventKind {
    /// First event of every execution; pins name, version, input and parent.
    OrchestrationStarted {
        /// Registered name.
        name: String,
        /// Resolved handler version.
        version: String,
        /// Input text.
        input: String,
        /// Instance that waits for the result.
        parent_instance: Option<String>,
        /// Schedule event in the parent.
        parent_id: Option<u64>,
        /// Execution of the parent that scheduled this child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_execution_id: Option<u64>,
        /// Queue messages that the previous execution had not read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        carry_forward_events: Option<Vec<(String, String)>>,
        /// Custom status at the end of the previous execution.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        initial_custom_status: Option<String>,
    },
    /// The orchestration returned `Ok`.
    OrchestrationCompleted {
        /// Its result.
        output: String,
    },
    /// The orchestration failed, was cancelled or was poisoned.
    OrchestrationFailed {
        /// Why.
        details: ErrorDetails,
    },
    /// An activity was asked for.
    ActivityScheduled {
        /// Registered name.
        name: String,
        /// Input text.
        input: String,
        /// Session that the activity must run in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// Routing tag.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tag: Option<String>,
    },
    /// An activity returned `Ok`.
    ActivityCompleted {
        /// Its result.
        result: String,
    },
    /// An activity failed.
    ActivityFailed {
        /// Why.
        details: ErrorDetails,
    },
    /// An activity is no longer wanted.
    ActivityCancelRequested {
        /// Why.
        reason: String,
    },
    /// A timer was asked for.
    TimerCreated {
        /// Due time, milliseconds since the Unix epoch.
        fire_at_ms: u64,
    },
    /// A timer was due.
    TimerFired {
        /// Due time, repeated from its creation.
        fire_at_ms: u64,
    },
    /// The code waits for a positional signal.
    ExternalSubscribed {
        /// Signal name.
        name: String,
    },
    /// A positional signal arrived.
    ExternalEvent {
        /// Signal name.
        name: String,
        /// Payload.
        data: String,
    },
    /// A detached orchestration was started.
    OrchestrationChained {
        /// Registered name.
        name: String,
        /// Its instance id.
        instance: String,
        /// Input text.
        input: String,
    },
    /// A child orchestration was asked for.
    SubOrchestrationScheduled {
        /// Registered name.
        name: String,
        /// Generated suffix (`sub::…`) or the explicit instance id.
        instance: String,
        /// Input text.
        input: String,
    },
    /// A child orchestration returned `Ok`.
    SubOrchestrationCompleted {
        /// Its result.
        result: String,
    },
    /// A child orchestration failed.
    SubOrchestrationFailed {
        /// Why.
        details: ErrorDetails,
    },
    /// A child orchestration is no longer wanted.
    SubOrchestrationCancelRequested {
        /// Why.
        reason: String,
    },
    /// The execution ended and a new one follows.
    OrchestrationContinuedAsNew {
        /// Input of the next execution.
        input: String,
    },
    /// A client or a parent asked to cancel the instance.
    OrchestrationCancelRequested {
        /// Why.
        reason: String,
    },
    /// A positional wait was given up.
    ExternalSubscribedCancelled {
        /// Why.
        reason: String,
    },
    /// The code waits for a queue message.
    #[serde(rename = "ExternalSubscribedPersistent")]
    QueueSubscribed {
        /// Queue name.
        name: String,
    },
    /// A queue message arrived.
    #[serde(rename = "ExternalEventPersistent")]
    QueueEventDelivered {
        /// Queue name.
        name: String,
        /// Payload.
        data: String,
    },
    /// A dequeue was given up.
    #[serde(rename = "ExternalSubscribedPersistentCancelled")]
    QueueSubscriptionCancelled {
        /// Why.
        reason: String,
    },
    /// The custom status changed; `None` resets it.
    CustomStatusUpdated {
        /// The new status.
        status: Option<String>,
    },
    /// A key was set.
    KeyValueSet {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// When, in milliseconds since the Unix epoch.
        #[serde(default)]
        last_updated_at_ms: u64,
    },
    /// A key was removed.
    KeyValueCleared {
        /// The key.
        key: String,
    },
    /// All keys were removed.
    KeyValuesCleared,
    /// The code waits for a signal with a topic. No release writes this.
    #[cfg(feature = "replay-version-test")]
    ExternalSubscribed2 {
        /// Signal name.
        name: String,
        /// Its topic.
        #[serde(deserialize_with = "text_of_version_two")]
        topic: String,
    },
    /// A signal with a topic arrived. No release writes this.
    #[cfg(feature = "replay-version-test")]
    ExternalEvent2 {
        /// Signal name.
        name: String,
        /// Its topic.
        #[serde(deserialize_with = "text_of_version_two")]
        topic: String,
        /// Payload.
        data: String,
    },
}

impl EventKind {
    /// The status that this event gives its execution for good, if it is the last event of one.
    pub(crate) fn final_status(&self) -> Option<ExecutionStatus> {
        match self {
            Self::OrchestrationCompleted { .. } => Some(ExecutionStatus::Completed),
            Self::OrchestrationFailed { .. } => Some(ExecutionStatus::Failed),
            Self::OrchestrationContinuedAsNew { .. } => Some(ExecutionStatus::ContinuedAsNew),
            Self::OrchestrationStarted { .. }
            | Self::ActivityScheduled { .. }
            | Self::ActivityCompleted { .. }
            | Self::ActivityFailed { .. }
            | Self::ActivityCancelRequested { .. }
            | Self::TimerCreated { .. }
            | Self::TimerFired { .. }
            | Self::ExternalSubscribed { .. }
            | Self::ExternalEvent { .. }
            | Self::OrchestrationChained { .. }
            | Self::SubOrchestrationScheduled { .. }
            | Self::SubOrchestrationCompleted { .. }
            | Self::SubOrchestrationFailed { .. }
            | Self::SubOrchestrationCancelRequested { .. }
            | Self::OrchestrationCancelRequested { .. }
            | Self::ExternalSubscribedCancelled { .. }
            | Self::QueueSubscribed { .. }
            | Self::QueueEventDelivered { .. }
            | Self::QueueSubscriptionCancelled { .. }
            | Self::CustomStatusUpdated { .. }
            | Self::KeyValueSet { .. }
            | Self::KeyValueCleared { .. }
            | Self::KeyValuesCleared => None,
            #[cfg(feature = "replay-version-test")]
            Self::ExternalSubscribed2 { .. } | Self::ExternalEvent2 { .. } => None,
        }
    }

    /// The `type` tag of the stored form.
    pub fn type_tag(&self) -> &'static str {
        match self {
            Self::OrchestrationStarted { .. } => "OrchestrationStarted",
            Self::OrchestrationCompleted { .. } => "OrchestrationCompleted",
            Self::OrchestrationFailed { .. } => "OrchestrationFailed",
            Self::ActivityScheduled { .. } => "ActivityScheduled",
            Self::ActivityCompleted { .. } => "ActivityCompleted",
            Self::ActivityFailed { .. } => "ActivityFailed",
            Self::ActivityCancelRequested { .. } => "ActivityCancelRequested",
            Self::TimerCreated { .. } => "TimerCreated",
            Self::TimerFired { .. } => "TimerFired",
            Self::ExternalSubscribed { .. } => "ExternalSubscribed",
            Self::ExternalEvent { .. } => "ExternalEvent",
            Self::OrchestrationChained { .. } => "OrchestrationChained",
            Self::SubOrchestrationScheduled { .. } => "SubOrchestrationScheduled",
            Self::SubOrchestrationCompleted { .. } => "SubOrchestrationCompleted",
            Self::SubOrchestrationFailed { .. } => "SubOrchestrationFailed",
            Self::SubOrchestrationCancelRequested { .. } => "SubOrchestrationCancelRequested",
            Self::OrchestrationContinuedAsNew { .. } => "OrchestrationContinuedAsNew",
            Self::OrchestrationCancelRequested { .. } => "OrchestrationCancelRequested",
            Self::ExternalSubscribedCancelled { .. } => "ExternalSubscribedCancelled",
            Self::QueueSubscribed { .. } => "ExternalSubscribedPersistent",
            Self::QueueEventDelivered { .. } => "ExternalEventPersistent",
            Self::QueueSubscriptionCancelled { .. } => "ExternalSubscribedPersistentCancelled",
            Self::CustomStatusUpdated { .. } => "CustomStatusUpdated",
            Self::KeyValueSet { .. } => "KeyValueSet",
            Self::KeyValueCleared { .. } => "KeyValueCleared",
            Self::KeyValuesCleared => "KeyValuesCleared",
            #[cfg(feature = "replay-version-test")]
            Self::ExternalSubscribed2 { .. } => "ExternalSubscribed2",
            #[cfg(feature = "replay-version-test")]
            Self::ExternalEvent2 { .. } => "ExternalEvent2",
        }
    }
}
