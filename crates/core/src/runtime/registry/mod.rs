//! Which code runs under which name and version.

mod activity_builder;
mod builder;
mod orchestration_builder;
#[expect(clippy::module_inception, reason = "the registry itself is one of the registry's parts")]
mod registry;
#[cfg(test)]
mod tests;
mod versions;

pub use builder::RegistryBuilder;
pub use registry::Registry;
pub use versions::VersionPolicy;

use super::ActivityHandler;
use crate::context::OrchestrationHandler;

/// Orchestrations by name and version.
pub type OrchestrationRegistry = Registry<dyn OrchestrationHandler>;

/// Activities by name.
pub type ActivityRegistry = Registry<dyn ActivityHandler>;

/// Collects orchestrations.
pub type OrchestrationRegistryBuilder = RegistryBuilder<dyn OrchestrationHandler>;

/// Collects activities.
pub type ActivityRegistryBuilder = RegistryBuilder<dyn ActivityHandler>;
