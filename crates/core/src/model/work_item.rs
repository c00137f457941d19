//! Messages of the two queues.

use serde::{Deserialize, Serialize};

#[cfg(feature = "replay-version-test")]
use super::acting_version::text_of_version_two;
use super::{ErrorDetails, cancel_reason};

/// A queue message. `ActivityExecute` goes to the worker queue, all others to the orchestrator
/// queue. Names, keys and their order are a stored format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkItem {
    /// Start an instance.
    StartOrchestration {
        /// Its id.
        instance: String,
        /// Registered name.
        orchestration: String,
        /// Input text.
        input: String,
        /// Explicit version, or the registry's choice.
        version: Option<String>,
        /// Instance that waits for the result.
        parent_instance: Option<String>,
        /// Schedule event in the parent.
        parent_id: Option<u64>,
        /// Execution of the parent. Without a parent, the execution that sent a detached start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_execution_id: Option<u64>,
        /// Always 1.
        execution_id: u64,
    },
    /// Run an activity.
    ActivityExecute {
        /// Instance that asked.
        instance: String,
        /// Execution that asked.
        execution_id: u64,
        /// Schedule event id.
        id: u64,
        /// Registered name.
        name: String,
        /// Input text.
        input: String,
        /// Session to run in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session_id: Option<String>,
        /// Routing tag.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tag: Option<String>,
    },
    /// An activity returned `Ok`.
    ActivityCompleted {
        /// Instance that asked.
        instance: String,
        /// Execution that asked.
        execution_id: u64,
        /// Schedule event id.
        id: u64,
        /// Result text.
        result: String,
    },
    /// An activity failed.
    ActivityFailed {
        /// Instance that asked.
        instance: String,
        /// Execution that asked.
        execution_id: u64,
        /// Schedule event id.
        id: u64,
        /// Why.
        details: ErrorDetails,
    },
    /// A timer is due.
    TimerFired {
        /// Instance that asked.
        instance: String,
        /// Execution that asked.
        execution_id: u64,
        /// Schedule event id.
        id: u64,
        /// Due time; the message is invisible before it.
        fire_at_ms: u64,
    },
    /// A positional signal.
    ExternalRaised {
        /// Target instance.
        instance: String,
        /// Signal name.
        name: String,
        /// Payload.
        data: String,
    },
    /// A child returned `Ok`.
    SubOrchCompleted {
        /// Instance that waits.
        parent_instance: String,
        /// Execution that waits.
        parent_execution_id: u64,
        /// Schedule event in the parent.
        parent_id: u64,
        /// Result text.
        result: String,
    },
    /// A child failed.
    SubOrchFailed {
        /// Instance that waits.
        parent_instance: String,
        /// Execution that waits.
        parent_execution_id: u64,
        /// Schedule event in the parent.
        parent_id: u64,
        /// Why.
        details: ErrorDetails,
    },
    /// Cancel an instance.
    CancelInstance {
        /// Target instance.
        instance: String,
        /// Why. If a parent cancels its child, the name of the parent follows.
        #[serde(flatten, with = "cancel_reason")]
        reason: String,
    },
    /// Start the next execution of an instance.
    ContinueAsNew {
        /// The instance.
        instance: String,
        /// Registered name.
        orchestration: String,
        /// Input text.
        input: String,
        /// Explicit version, or the registry's choice.
        version: Option<String>,
        /// Instance that waits for the result.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_instance: Option<String>,
        /// Schedule event in the parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_id: Option<u64>,
        /// Execution of the parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_execution_id: Option<u64>,
        /// Queue messages that were not read.
        #[serde(default)]
        carry_forward_events: Vec<(String, String)>,
        /// Initial custom status.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        initial_custom_status: Option<String>,
    },
    /// A message of a FIFO queue.
    QueueMessage {
        /// Target instance.
        instance: String,
        /// Queue name.
        name: String,
        /// Payload.
        data: String,
    },
    /// A signal with a topic. No release writes this.
    #[cfg(feature = "replay-version-test")]
    ExternalRaised2 {
        /// Target instance.
        instance: String,
        /// Signal name.
        name: String,
        /// Its topic.
        #[serde(deserialize_with = "text_of_version_two")]
        topic: String,
        /// Payload.
        data: String,
    },
}

impl WorkItem {
    /// The instance that the message is for.
    pub fn target_instance(&self) -> &str {
        match self {
            Self::StartOrchestration { instance, .. }
            | Self::ActivityExecute { instance, .. }
            | Self::ActivityCompleted { instance, .. }
            | Self::ActivityFailed { instance, .. }
            | Self::TimerFired { instance, .. }
            | Self::ExternalRaised { instance, .. }
            | Self::CancelInstance { instance, .. }
            | Self::ContinueAsNew { instance, .. }
            | Self::QueueMessage { instance, .. } => instance,
            #[cfg(feature = "replay-version-test")]
            Self::ExternalRaised2 { instance, .. } => instance,
            Self::SubOrchCompleted { parent_instance, .. }
            | Self::SubOrchFailed { parent_instance, .. } => parent_instance,
        }
    }

    /// Whether an orchestration sent this start without waiting for the result.
    pub(crate) fn is_detached_start(&self) -> bool {
        matches!(
            self,
            Self::StartOrchestration { parent_instance: None, parent_execution_id: Some(_), .. }
        )
    }

    /// Name of the variant.
    pub fn variant_name(&self) -> &'static str {
        match self {
            Self::StartOrchestration { .. } => "StartOrchestration",
            Self::ActivityExecute { .. } => "ActivityExecute",
            Self::ActivityCompleted { .. } => "ActivityCompleted",
            Self::ActivityFailed { .. } => "ActivityFailed",
            Self::TimerFired { .. } => "TimerFired",
            Self::ExternalRaised { .. } => "ExternalRaised",
            Self::SubOrchCompleted { .. } => "SubOrchCompleted",
            Self::SubOrchFailed { .. } => "SubOrchFailed",
            Self::CancelInstance { .. } => "CancelInstance",
            Self::ContinueAsNew { .. } => "ContinueAsNew",
            Self::QueueMessage { .. } => "QueueMessage",
            #[cfg(feature = "replay-version-test")]
            Self::ExternalRaised2 { .. } => "ExternalRaised2",
        }
    }

    /// Whether the message can start an execution.
    pub fn is_start(&self) -> bool {
        matches!(self, Self::StartOrchestration { .. } | Self::ContinueAsNew { .. })
    }
}
