//! Durable execution embedded in your own program.
#![doc = include_str!("../README.md")]

pub mod compat;
pub mod guide;
#[cfg(feature = "provider-test")]
pub mod provider_stress_test;
#[cfg(feature = "provider-test")]
pub mod provider_stress_tests;
#[cfg(feature = "provider-test")]
pub mod provider_validation;
#[cfg(feature = "provider-test")]
pub mod provider_validations;
pub mod providers;
pub mod runtime;

pub use compat::{CompletionResult, LogLevel, OrchestrationHandlerRef, ProviderRef, ScheduleKind};
pub use duroxide_core::client;
pub use duroxide_core::client::{Client, ClientError};
pub use duroxide_core::context::{ActivityOptions, DurableFuture, OrchestrationContext};
pub use duroxide_core::model::{
    Action, AppErrorKind, BackoffStrategy, ConfigErrorKind, Either2, Either3, ErrorDetails, Event,
    EventKind, INITIAL_EVENT_ID, INITIAL_EXECUTION_ID, PoisonMessageType, RetryPolicy,
    SUB_ORCH_AUTO_PREFIX, SystemStats, build_child_instance_id, is_auto_generated_sub_orch_id,
};
pub use duroxide_core::runtime::ActivityContext;
pub use providers::{
    DeleteInstanceResult, DispatcherCapabilityFilter, ExecutionInfo, InstanceFilter, InstanceInfo,
    InstanceTree, ProviderAdmin, PruneOptions, PruneResult, QueueDepths,
    ScheduledActivityIdentifier, SemverRange, SessionFetchConfig, SystemMetrics, TagFilter,
    current_build_version,
};
pub use runtime::{
    OrchestrationDescriptor, OrchestrationHandler, OrchestrationRegistry,
    OrchestrationRegistryBuilder, OrchestrationStatus, RuntimeOptions,
};
