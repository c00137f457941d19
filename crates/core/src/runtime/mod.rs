//! Runs orchestrations and activities: fetches work from the provider and commits the results.

mod activities;
mod activity_context;
mod activity_handler;
mod announcing;
mod background;
mod builtin;
pub mod bulk;
mod cancelled;
pub mod check;
mod contradictions;
mod descriptor;
pub(crate) mod dispatchers;
mod ended;
mod fast_path;
mod gauges;
mod handlers;
mod kind_of;
mod lease;
mod live_nodes;
mod mismatch;
mod node;
mod options;
mod poison_text;
mod progress;
pub mod registry;
mod retention;
#[expect(clippy::module_inception, reason = "the type that the module is named for")]
mod runtime;
mod slots;
mod start_facts;
mod storage_retry;
mod stranded;
mod suspended;
mod sweeper;
mod tasks;
#[cfg(feature = "test-hooks")]
pub mod test_hooks;
#[cfg(feature = "testing")]
mod tested_attempt;
mod turns;
mod unregistered_backoff;

pub use crate::context::{FnOrchestration, OrchestrationHandler};
pub use crate::limits;
pub use crate::model::OrchestrationStatus;
pub use crate::observability;
pub use crate::observability::{LogFormat, ObservabilityConfig};
pub use activity_context::ActivityContext;
pub use activity_handler::{ActivityHandler, FnActivity};
pub use descriptor::OrchestrationDescriptor;
pub use kind_of::kind_of;
pub use mismatch::MismatchPolicy;
pub use options::{RuntimeOptions, WarmCacheOptions};
pub use progress::ProgressError;
pub use registry::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder,
    VersionPolicy,
};
pub use runtime::Runtime;
#[cfg(feature = "testing")]
pub use tested_attempt::TestedAttempt;
pub use unregistered_backoff::{UnregisteredBackoffConfig, UnregisteredWork};
