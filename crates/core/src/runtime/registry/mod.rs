//! Maps names and versions to handlers.

mod activity_builder;
mod aliases;
mod builder;
mod mistakes;
mod orchestration_builder;
#[expect(clippy::module_inception, reason = "the registry itself is one of the registry's parts")]
mod registry;
#[cfg(test)]
mod tests;
mod versions;

pub use aliases::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder,
};
pub use builder::RegistryBuilder;
pub use mistakes::{RegistrationMistake, RegistryError};
pub use registry::Registry;
pub use versions::VersionPolicy;
