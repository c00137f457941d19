//! Moves work between the provider, the engine and the activities.

mod activity_context;
mod activity_handler;
mod descriptor;
mod kind_of;
pub mod limits;
pub mod observability;
mod options;
pub mod registry;
mod system_activities;
#[cfg(feature = "test-hooks")]
pub mod test_hooks;
mod unregistered_backoff;

pub use crate::context::{FnOrchestration, OrchestrationHandler};
pub use crate::model::OrchestrationStatus;
pub use activity_context::ActivityContext;
pub use activity_handler::{ActivityHandler, FnActivity};
pub use descriptor::OrchestrationDescriptor;
pub use kind_of::kind_of;
pub use observability::{LogFormat, ObservabilityConfig};
pub use options::{RuntimeOptions, WarmCacheOptions};
pub use registry::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder,
    VersionPolicy,
};
pub use unregistered_backoff::UnregisteredBackoffConfig;
