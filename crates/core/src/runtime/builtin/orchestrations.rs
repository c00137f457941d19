//! Orchestrations that belong to the runtime. There is none yet.
//!
//! A registry, so that they have versions like those of users: an execution that began under an
//! older version is replayed by the code of that version.

use crate::runtime::OrchestrationRegistry;

/// The built-in orchestrations in all their versions.
pub(crate) fn builtin_orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::default()
}
