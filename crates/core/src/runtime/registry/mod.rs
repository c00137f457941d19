//! Maps names and versions to handlers.

mod activity_builder;
mod aliases;
mod builder;
mod declarations;
mod mistakes;
mod needs;
mod orchestration_builder;
#[expect(clippy::module_inception, reason = "the registry itself is one of the registry's parts")]
mod registry;
#[cfg(test)]
mod tests;
mod typed;
mod versions;

pub use aliases::{
    ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistry, OrchestrationRegistryBuilder,
};
pub use builder::RegistryBuilder;
pub use mistakes::{RegistrationMistake, RegistryError};
pub use needs::MissingRegistrations;
pub use registry::Registry;
pub use typed::{ActivityState, IntoState, Register, Registries};
pub use versions::VersionPolicy;
