//! What orchestration code asks for, and the results that it receives.

/// A decision of orchestration code, in the order in which the code made it.
#[derive(Debug, Clone)]
pub enum Action {
    /// Run an activity.
    CallActivity {
        /// Event id of the schedule; zero until it is recorded.
        scheduling_event_id: u64,
        /// Registered name.
        name: String,
        /// Input text.
        input: String,
        /// Session to run in.
        session_id: Option<String>,
        /// Routing tag.
        tag: Option<String>,
    },
    /// Start a timer.
    CreateTimer {
        /// Event id of the schedule; zero until it is recorded.
        scheduling_event_id: u64,
        /// Due time.
        fire_at_ms: u64,
    },
    /// Wait for a positional signal.
    WaitExternal {
        /// Event id of the schedule; zero until it is recorded.
        scheduling_event_id: u64,
        /// Signal name.
        name: String,
    },
    /// Start an orchestration without waiting for its result.
    StartOrchestrationDetached {
        /// Event id of the schedule; zero until it is recorded.
        scheduling_event_id: u64,
        /// Registered name.
        name: String,
        /// Explicit version, or the registry's choice.
        version: Option<String>,
        /// Its instance id.
        instance: String,
        /// Input text.
        input: String,
    },
    /// Start a child orchestration.
    StartSubOrchestration {
        /// Event id of the schedule; zero until it is recorded.
        scheduling_event_id: u64,
        /// Registered name.
        name: String,
        /// Explicit version, or the registry's choice.
        version: Option<String>,
        /// Suffix, placeholder or explicit instance id.
        instance: String,
        /// Input text.
        input: String,
    },
    /// End this execution and start the next.
    ContinueAsNew {
        /// Input of the next execution.
        input: String,
        /// Explicit version, or the registry's choice.
        version: Option<String>,
    },
    /// Set or reset the custom status.
    UpdateCustomStatus {
        /// The new status.
        status: Option<String>,
    },
    /// Wait for a queue message.
    DequeueEvent {
        /// Event id of the schedule; zero until it is recorded.
        scheduling_event_id: u64,
        /// Queue name.
        name: String,
    },
    /// Set a key.
    SetKeyValue {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// When.
        last_updated_at_ms: u64,
    },
    /// Remove a key.
    ClearKeyValue {
        /// The key.
        key: String,
    },
    /// Remove all keys.
    ClearKeyValues,
    /// Wait for a signal with a topic. Only tests of upgrades ask for it.
    #[cfg(feature = "replay-version-test")]
    WaitExternal2 {
        /// Event id of the schedule; zero until it is recorded.
        scheduling_event_id: u64,
        /// Signal name.
        name: String,
        /// Its topic.
        topic: String,
    },
}

/// The result of a scheduled operation.
#[doc(hidden)]
#[derive(Debug, Clone)]
pub enum CompletionResult {
    ActivityOk(String),
    ActivityErr(String),
    TimerFired,
    SubOrchOk(String),
    SubOrchErr(String),
    ExternalData(String),
}

/// What a [`DurableFuture`](crate::DurableFuture) stands for.
#[derive(Debug, Clone)]
pub enum ScheduleKind {
    /// An activity.
    Activity {
        /// Its name.
        name: String,
    },
    /// A timer.
    Timer,
    /// A positional wait.
    ExternalWait {
        /// Signal name.
        event_name: String,
    },
    /// A dequeue.
    QueueDequeue {
        /// Queue name.
        event_name: String,
    },
    /// A child orchestration.
    SubOrchestration {
        /// Token of the schedule within its execution.
        token: u64,
    },
}

/// Severity names kept for code written against 0.1.x.
#[derive(Debug, Clone)]
pub enum LogLevel {
    /// Informational.
    Info,
    /// Something that needs attention.
    Warn,
    /// Something went wrong.
    Error,
}
