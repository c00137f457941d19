//! Sample orchestrations: ordinary code, looked up by name.

mod arms;
mod basics;
mod calls;
mod cancellation;
mod events;
mod patches;
mod state;
mod waking;

pub(crate) use waking::yield_once;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use duroxide_core::OrchestrationContext;
use duroxide_core::context::{FnOrchestration, OrchestrationHandler};

type Running = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;
type Code = fn(OrchestrationContext, String) -> Running;

/// Lists samples: `samples! { name(ctx, input) { body } … }`.
macro_rules! samples {
    ($($name:ident($ctx:ident, $input:ident) $body:block)+) => {
        /// Samples of this file by name.
        pub(super) const ALL: &[(&str, super::Code)] = &[$((stringify!($name), $name)),+];

        $(
            fn $name(
                $ctx: duroxide_core::OrchestrationContext,
                $input: String,
            ) -> super::Running {
                Box::pin(async move { $body })
            }
        )+
    };
}
use samples;

/// Finds the sample with this name.
pub(crate) fn find(name: &str) -> Arc<dyn OrchestrationHandler> {
    let files = [
        arms::ALL,
        basics::ALL,
        calls::ALL,
        cancellation::ALL,
        events::ALL,
        patches::ALL,
        state::ALL,
        waking::ALL,
    ];
    let found = files.concat().into_iter().find(|(sample, _)| *sample == name);
    let (_, code) = found.unwrap_or_else(|| panic!("there is no sample {name:?}"));
    Arc::new(FnOrchestration(code))
}
