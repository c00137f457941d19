//! What exists only for programs written for duroxide 0.1.x.
//!
//! The items stay at the paths where 0.1.x has them, and none is planned to go away. This page and
//! the table in `COMPAT.md` are the only places that mark them. New programs use what follows the
//! colon.
//!
//! - [`ProviderRef`], [`OrchestrationHandlerRef`]: the `Arc` that they abbreviate.
//! - [`LogLevel`]: `trace_info`, `trace_warn`, `trace_error` and `trace_debug` of the contexts.
//! - [`CompletionResult`], [`ScheduleKind`], `OrchestrationContext::new` and its hidden methods:
//!   nothing. They are hooks for tests of an engine.
//! - `OrchestrationContext::schedule_wait_persistent` and its typed form: `dequeue_event`.
//! - `OrchestrationContext::is_logging_enabled`: nothing. It always returns `false`.
//! - `OrchestrationContext::get_system_stats`, always `None`: `Client::get_orchestration_stats`.
//! - `OrchestrationContext::get_kv_all_values`: `get_kv_entries`, whose order is the same in every
//!   replay.
//! - `Client::raise_event_persistent`: `Client::enqueue_event`.
//! - `RetryPolicy::with_total_timeout`: `RetryPolicy::with_timeout`.
//! - `RegistryBuilder::build_result`: `RegistryBuilder::try_build`, whose error has a type.
//! - `OrchestrationRegistryBuilder::register_versioned` and its typed form, which panic:
//!   `register_at_version` and its typed form.
//! - `ActivityRegistryBuilder::from_registry`: `ActivityRegistry::builder_from`.
//! - The three `…_lock_renewal_buffer` fields of `RuntimeOptions`: nothing. The runtime renews
//!   leases at half their length.
//! - [`kind_of`](crate::runtime::kind_of): a `match` on `WorkItem`.
//! - `MetricsProvider::shutdown`, `ObservabilityHandle::shutdown`: nothing. They have no effect.
//! - `SqliteOptions`, `SqliteProvider::new_in_memory_with_options`: `SqliteProvider::builder`.
//! - The modules `provider_validation` and `provider_stress_test`: `provider_validations` and
//!   `provider_stress_tests`.

use std::sync::Arc;

pub use duroxide_core::model::{CompletionResult, LogLevel, ScheduleKind};

/// A shared provider.
pub type ProviderRef = Arc<dyn crate::providers::Provider>;

/// A shared orchestration handler.
pub type OrchestrationHandlerRef = Arc<dyn crate::runtime::OrchestrationHandler>;
