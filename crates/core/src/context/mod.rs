//! What orchestration code holds.

mod handler;
mod orchestration;

pub use handler::{FnOrchestration, OrchestrationHandler};
pub use orchestration::OrchestrationContext;
