//! The context of orchestration code: scheduling, futures, combinators, status and keys.

mod activities;
mod activity_options;
mod arms;
mod attempts;
mod attributes;
mod bounded;
mod calls;
pub(crate) mod cancellation;
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
mod saga;
pub(crate) mod state;
mod status;
mod streams;
mod sub_orchestrations;
mod system_calls;
mod timers;
mod trace;
mod typed_call;
mod typed_calls;

pub use activity_options::ActivityOptions;
#[doc(hidden)]
pub use arms::poll_arm;
pub use bounded::Elapsed;
pub use cancellation::Cancelled;
#[cfg(feature = "replay-version-test")]
pub(crate) use events::topic_lane;
pub use future::DurableFuture;
pub use handler::{FnOrchestration, OrchestrationHandler};
pub use orchestration::OrchestrationContext;
pub use saga::{Saga, UndoFailure};
pub use typed_call::Call;
