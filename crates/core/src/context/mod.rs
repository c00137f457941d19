//! The context of orchestration code: scheduling, futures, combinators, status and keys.

mod activities;
mod activity_options;
mod calls;
mod compose;
mod continue_as_new;
pub(crate) mod drops;
mod events;
mod future;
pub mod handler;
mod hooks;
mod join;
mod kv;
mod kv_state;
mod lane;
pub(crate) mod orchestration;
mod patches;
mod positions;
mod retry;
pub(crate) mod rules;
pub(crate) mod state;
mod status;
mod streams;
mod sub_orchestrations;
mod system_calls;
mod timers;
mod trace;

pub use activity_options::ActivityOptions;
#[cfg(feature = "replay-version-test")]
pub(crate) use events::topic_lane;
pub use future::DurableFuture;
pub use handler::{FnOrchestration, OrchestrationHandler};
pub use orchestration::OrchestrationContext;
