//! Durable execution embedded in your own program.
//!
// The first definition of a link counts: these replace the README's, which point to the
// repository.
//! [Orchestrations]: guide::orchestrations
//! [Activities]: guide::activities
//! [Errors]: guide::errors
//! [Events and queues]: guide::events
//! [Timers]: guide::timers
//! [Versions]: guide::versions
//! [Upgrades]: guide::upgrades
//! [Queries]: guide::queries
//! [Observability]: guide::observability
//! [Writing a provider]: guide::provider_guide
//! [Performance]: https://github.com/duroxide/duroxide/blob/main/docs/performance.md
//! [ARCHITECTURE.md]: https://github.com/duroxide/duroxide/blob/main/ARCHITECTURE.md
//! [CHANGELOG.md]: https://github.com/duroxide/duroxide/blob/main/CHANGELOG.md
//! [COMPAT.md]: https://github.com/duroxide/duroxide/blob/main/COMPAT.md
//! [CONTRIBUTING.md]: https://github.com/duroxide/duroxide/blob/main/CONTRIBUTING.md
//! [SECURITY.md]: https://github.com/duroxide/duroxide/blob/main/SECURITY.md
//! [`examples/quickstart`]: https://github.com/duroxide/duroxide/tree/main/crates/duroxide/examples
#![cfg_attr(feature = "sqlite", doc = "[SQLite]: guide::sqlite")]
#![cfg_attr(feature = "postgres", doc = "[PostgreSQL]: guide::postgres")]
#![cfg_attr(feature = "provider-test", doc = "[Testing a provider]: guide::provider_testing\n\n")]
#![cfg_attr(feature = "testing", doc = "[Testing]: guide::testing\n\n")]
#![doc = include_str!("../README.md")]

mod assertions;
pub mod compat;
pub mod guide;
pub mod prelude;
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
#[cfg(feature = "testing")]
pub mod testing;

pub use compat::{CompletionResult, LogLevel, OrchestrationHandlerRef, ProviderRef, ScheduleKind};
pub use duroxide_core::client;
pub use duroxide_core::client::{Client, ClientError};
pub use duroxide_core::context::{
    ActivityOptions, Call, Cancelled, DurableFuture, Elapsed, OrchestrationContext, Saga,
    UndoFailure,
};
pub use duroxide_core::histories;
pub use duroxide_core::model::{
    Action, AppErrorKind, AttributeValue, Attributes, BackoffStrategy, CancelRequest,
    ConfigErrorKind, Either2, Either3, ErrorDetails, Event, EventKind, INITIAL_EVENT_ID,
    INITIAL_EXECUTION_ID, InstanceEdit, MendMarker, PatchMarker, PoisonMessageType, RetryPolicy,
    SUB_ORCH_AUTO_PREFIX, SystemStats, build_child_instance_id, is_auto_generated_sub_orch_id,
};
pub use duroxide_core::query;
pub use duroxide_core::runtime::ActivityContext;
pub use duroxide_core::runtime::check;
pub use duroxide_core::transfer;
pub use duroxide_core::typed;
pub use duroxide_core::typed::{CallError, Queue, Retry, RetryHint, Retryable, Signal};
pub use duroxide_core::{join, select};
#[cfg(feature = "macros")]
pub use duroxide_macros::{activity, orchestration};
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
