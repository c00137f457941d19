//! The two kinds of registries.

use super::{Registry, RegistryBuilder};
use crate::context::OrchestrationHandler;
use crate::runtime::ActivityHandler;

/// Orchestrations by name and version.
pub type OrchestrationRegistry = Registry<dyn OrchestrationHandler>;

/// Activities by name.
pub type ActivityRegistry = Registry<dyn ActivityHandler>;

/// Builds an [`OrchestrationRegistry`].
pub type OrchestrationRegistryBuilder = RegistryBuilder<dyn OrchestrationHandler>;

/// Builds an [`ActivityRegistry`].
pub type ActivityRegistryBuilder = RegistryBuilder<dyn ActivityHandler>;
