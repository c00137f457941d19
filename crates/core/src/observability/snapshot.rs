//! A snapshot of the counts of one runtime, for programs without a metrics recorder.

use std::sync::atomic::{AtomicU64, Ordering};

/// Declares each count once, for the public snapshot and for the cells behind it.
macro_rules! counts {
    ($($(#[$doc:meta])* $field:ident,)*) => {
        /// Counts since the start of the runtime.
        #[derive(Debug, Default, Clone, PartialEq, Eq)]
        pub struct MetricsSnapshot {
            $($(#[$doc])* pub $field: u64,)*
        }

        #[derive(Debug, Default)]
        pub(super) struct Counts {
            $(pub(super) $field: Count,)*
        }

        impl Counts {
            pub(super) fn snapshot(&self) -> MetricsSnapshot {
                MetricsSnapshot { $($field: self.$field.get(),)* }
            }
        }
    };
}

counts! {
    /// Executions started.
    orch_starts,
    /// Executions completed, with any outcome.
    orch_completions,
    /// Executions that failed.
    orch_failures,
    /// Failures of user code.
    orch_application_errors,
    /// Failures of storage or engine.
    orch_infrastructure_errors,
    /// Failures of the deployment.
    orch_configuration_errors,
    /// Instances that failed because a message was fetched too often.
    orch_poison,
    /// Activities that returned `Ok`.
    activity_success,
    /// Activities that returned `Err`.
    activity_app_errors,
    /// Activities whose result could not be stored.
    activity_infra_errors,
    /// Activities that the deployment could not run.
    activity_config_errors,
    /// Activities fetched too often.
    activity_poison,
    /// Turns fetched.
    orch_dispatcher_items_fetched,
    /// Activities fetched.
    worker_dispatcher_items_fetched,
    /// Executions that continued as new.
    orch_continue_as_new,
    /// Calls of child orchestrations.
    suborchestration_calls,
    /// Failed operations of the store.
    provider_errors,
}

/// One count. Counts are independent of each other, so relaxed ordering is enough.
#[derive(Debug, Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub(super) fn add(&self, number: u64) {
        self.0.fetch_add(number, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
