//! Traits that programs may rely on.

use std::error::Error;
use std::fmt::{Debug, Display};

use duroxide::client::{Client, ClientError};
use duroxide::providers::error::ProviderError;
use duroxide::providers::{
    DeleteInstanceResult, DispatcherCapabilityFilter, ExecutionInfo, ExecutionMetadata,
    InstanceFilter, InstanceInfo, InstanceTree, KvEntry, OrchestrationItem, PruneOptions,
    PruneResult, QueueDepths, ScheduledActivityIdentifier, SemverRange, SessionFetchConfig,
    SystemMetrics, TagFilter, WorkItem,
};
use duroxide::runtime::observability::{LogFormat, MetricsSnapshot, ObservabilityConfig};
use duroxide::runtime::registry::{ActivityRegistry, OrchestrationRegistry, VersionPolicy};
use duroxide::runtime::{RuntimeOptions, UnregisteredBackoffConfig};
use duroxide::{
    Action, ActivityContext, AppErrorKind, BackoffStrategy, CompletionResult, ConfigErrorKind,
    DurableFuture, Either2, Either3, ErrorDetails, Event, EventKind, LogLevel,
    OrchestrationContext, OrchestrationDescriptor, OrchestrationStatus, PoisonMessageType,
    RetryPolicy, ScheduleKind, SystemStats,
};
use serde::{Serialize, de::DeserializeOwned};

fn shared<T: Send + Sync + 'static>() {}
fn cloned<T: Clone>() {}
fn plain<T: Debug + Clone>() {}
fn compared<T: Debug + Clone + PartialEq>() {}
fn equal<T: Debug + Clone + PartialEq + Eq>() {}
fn defaulted<T: Default>() {}
fn stored<T: Debug + Clone + PartialEq + Serialize + DeserializeOwned>() {}
fn error<T: Debug + Display + Clone + Error + Send + Sync + 'static>() {}
fn future<F: Future + Send + Unpin>() {}

#[test]
fn model_types_have_their_traits() {
    stored::<Event>();
    stored::<EventKind>();
    stored::<WorkItem>();
    stored::<ErrorDetails>();
    stored::<PoisonMessageType>();
    stored::<ConfigErrorKind>();
    stored::<AppErrorKind>();
    stored::<SystemStats>();
    equal::<Event>();
    equal::<EventKind>();
    equal::<WorkItem>();
    equal::<ErrorDetails>();
    equal::<PoisonMessageType>();
    equal::<ConfigErrorKind>();
    equal::<AppErrorKind>();
    equal::<Either2<u8, u8>>();
    equal::<Either3<u8, u8, u8>>();
    equal::<OrchestrationStatus>();
    equal::<OrchestrationDescriptor>();
    plain::<Action>();
    plain::<CompletionResult>();
    plain::<ScheduleKind>();
    plain::<LogLevel>();
    plain::<BackoffStrategy>();
    plain::<RetryPolicy>();
    defaulted::<BackoffStrategy>();
    defaulted::<RetryPolicy>();
}

#[test]
fn provider_types_have_their_traits() {
    equal::<TagFilter>();
    defaulted::<TagFilter>();
    equal::<SemverRange>();
    plain::<DispatcherCapabilityFilter>();
    equal::<ScheduledActivityIdentifier>();
    plain::<SessionFetchConfig>();
    compared::<KvEntry>();
    plain::<OrchestrationItem>();
    plain::<ExecutionMetadata>();
    defaulted::<ExecutionMetadata>();
    error::<ProviderError>();
    equal::<ProviderError>();
    plain::<InstanceInfo>();
    plain::<ExecutionInfo>();
    plain::<SystemMetrics>();
    defaulted::<SystemMetrics>();
    plain::<QueueDepths>();
    defaulted::<QueueDepths>();
    plain::<InstanceFilter>();
    defaulted::<InstanceFilter>();
    plain::<PruneOptions>();
    defaulted::<PruneOptions>();
    plain::<DeleteInstanceResult>();
    defaulted::<DeleteInstanceResult>();
    plain::<PruneResult>();
    defaulted::<PruneResult>();
    plain::<InstanceTree>();
}

#[test]
fn handles_contexts_and_options_have_their_traits() {
    cloned::<Client>();
    shared::<Client>();
    error::<ClientError>();
    cloned::<OrchestrationContext>();
    plain::<ActivityContext>();
    future::<DurableFuture<Result<String, String>>>();
    cloned::<OrchestrationRegistry>();
    defaulted::<OrchestrationRegistry>();
    cloned::<ActivityRegistry>();
    defaulted::<ActivityRegistry>();
    plain::<VersionPolicy>();
    plain::<RuntimeOptions>();
    defaulted::<RuntimeOptions>();
    plain::<UnregisteredBackoffConfig>();
    defaulted::<UnregisteredBackoffConfig>();
    equal::<LogFormat>();
    defaulted::<LogFormat>();
    plain::<ObservabilityConfig>();
    defaulted::<ObservabilityConfig>();
    equal::<MetricsSnapshot>();
    defaulted::<MetricsSnapshot>();
    shared::<duroxide::runtime::Runtime>();
}
