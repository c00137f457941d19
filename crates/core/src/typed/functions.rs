//! Functions from which a handle is found.

use std::marker::PhantomData;

use super::callable::Callable;
use super::recorded::Recorded;

/// A function that has a handle: it returns [`Recorded`]. `M` only tells the shapes of functions
/// apart and is inferred.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_macros::{activity, orchestration};
///
/// use duroxide::ActivityContext;
/// use duroxide::typed::{Callable, CallableFn};
///
/// #[activity(name = "Charge")]
/// async fn charge(_ctx: ActivityContext, cents: u64) -> Result<u64, String> {
///     Ok(cents)
/// }
///
/// fn name_of<F: CallableFn<M>, M>(_function: F) -> &'static str {
///     F::Handle::NAME
/// }
///
/// assert_eq!(name_of(charge), "Charge");
/// ```
#[diagnostic::on_unimplemented(
    message = "this function has no recorded name",
    label = "neither an activity nor an orchestration",
    note = "add `#[activity]` to the function if it has effects, or `#[orchestration]` if it \
            decides what happens next; pass the function itself, without calling it"
)]
pub trait CallableFn<M> {
    /// The handle of the function.
    type Handle: Callable;
}

/// A plain function that a runtime can run with a context `C`.
#[diagnostic::on_unimplemented(
    message = "this function cannot be registered here",
    label = "not a function of this kind with a recorded name",
    note = "add `#[activity]` or `#[orchestration]` to the function; activities go into an \
            activity registry and orchestrations into an orchestration registry, and methods are \
            registered with their state by `register_state`"
)]
pub trait RecordedFn<C, M>: Send + Sync + 'static {
    /// The handle of the function.
    type Handle: Callable;

    /// Calls the function.
    fn start(
        &self,
        ctx: C,
        input: <Self::Handle as Callable>::Input,
    ) -> Recorded<'static, Self::Handle>;
}

/// A method that a runtime can run with its state `S` and a context `C`.
pub trait MethodFn<S, C, M>: Send + Sync + 'static {
    /// The handle of the method.
    type Handle: Callable;

    /// Calls the method.
    fn start<'a>(
        &self,
        state: &'a S,
        ctx: C,
        input: <Self::Handle as Callable>::Input,
    ) -> Recorded<'a, Self::Handle>;
}

/// The shape of a method: state, context, parameters.
#[derive(Debug)]
pub struct Method<T>(PhantomData<T>);

/// The contexts that functions get: `ActivityContext` and `OrchestrationContext`.
#[diagnostic::on_unimplemented(
    message = "the first parameter must be a context, not `{Self}`",
    label = "not a context",
    note = "an activity begins with `ctx: ActivityContext`, an orchestration with \
            `ctx: OrchestrationContext`"
)]
pub trait CodeContext {}

/// Compiles if the type is a context. For the code that the attributes write.
#[doc(hidden)]
pub const fn assert_context<C: CodeContext>() {}
