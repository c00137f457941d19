//! The attributes `#[activity]` and `#[orchestration]` of Duroxide. Programs use them through the
//! crate `duroxide`.

mod calls;
mod entry;
mod function;
mod handle;
mod item;
mod options;
mod retry;
mod state;
mod time;

use proc_macro::TokenStream;

/// Makes an `async fn` an activity, or the methods of an `impl` block.
///
/// The function takes an `ActivityContext` and up to six parameters, and returns a `Result`. It
/// stays callable as it is. A type of the same name, its *handle*, carries the recorded name and
/// the types of input, output and error.
///
/// ```ignore
/// #[activity(timeout = "30s", retry(attempts = 5, backoff = "1s", max = "1m", jitter = 0.2))]
/// async fn charge(ctx: ActivityContext, order: Order) -> Result<String, PayError> {
///     bank(order).await
/// }
/// ```
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | the recorded name; without it, the name of the function |
/// | `timeout = "30s"` | the limit of each attempt |
/// | `schedule_to_start = "10m"` | a worker must start each attempt within this time |
/// | `tag = "…"` | only workers that accept the tag run it |
/// | `retry(…)` | `attempts`, `backoff`, `max`, `fixed`, `jitter`, `deadline`, `timeouts` |
/// | `elsewhere` | only other nodes run it; this one need not have it registered |
/// | `crate = path` | where the crate `duroxide` is, if not at `::duroxide` |
///
/// Durations are a number and a unit: `ms`, `s`, `m`, `h` or `d`.
///
/// On an `impl` block, every `async fn` that takes `&self` and an `ActivityContext` is an activity;
/// `#[activity(…)]` on such a method sets its options. `register_state` registers them with the
/// state, and `ctx.call(Payments::charge, order)` calls one.
#[proc_macro_attribute]
pub fn activity(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::activity(options.into(), item.into()).into()
}

/// Makes an `async fn` an orchestration.
///
/// The function takes an `OrchestrationContext` and up to six parameters, and returns a `Result`.
/// It stays callable as it is. A type of the same name, its *handle*, carries the recorded name,
/// the version and the types of input, output and error.
///
/// ```ignore
/// #[orchestration(version = "1.0.0")]
/// async fn buy(ctx: OrchestrationContext, order: Order) -> Result<String, PayError> {
///     Ok(ctx.call(charge, order).await?)
/// }
/// ```
///
/// | option | meaning |
/// |---|---|
/// | `name = "…"` | the recorded name; without it, the name of the function |
/// | `version = "1.0.0"` | the version; starts by this function ask for exactly this one |
/// | `calls(…)` | activities that helper functions of the code call |
/// | `children(…)` | child orchestrations that helper functions of the code start |
/// | `crate = path` | where the crate `duroxide` is, if not at `::duroxide` |
///
/// A runtime checks when it starts that the functions are registered that the code calls with
/// `ctx.call(…)` and `ctx.child(…)`; what other functions call is not seen and can be named.
#[proc_macro_attribute]
pub fn orchestration(options: TokenStream, item: TokenStream) -> TokenStream {
    entry::orchestration(options.into(), item.into()).into()
}
