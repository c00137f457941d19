//! Registration of functions that have a handle.

use std::any::TypeId;
use std::future::Future;
use std::sync::Arc;

use semver::Version;

use super::builder::Registration;
use super::needs::Need;
use super::versions::UNVERSIONED;
use super::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use crate::context::{FnOrchestration, OrchestrationContext};
use crate::model::codec;
use crate::runtime::ActivityContext;
use crate::typed::{
    Activity, Callable, CallableFn, CodeContext, MethodFn, Orchestration, RecordedFn,
};

const DUPLICATE: &str = "duplicate orchestration registration";

impl CodeContext for ActivityContext {}

/// A state whose methods are activities: `#[activity]` on an `impl` block implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no activities",
    label = "no `impl` block of this type has `#[activity]`",
    note = "add `#[activity]` to the `impl` block whose methods are activities"
)]
pub trait ActivityState: Send + Sync + Sized + 'static {
    /// Registers all of them.
    fn register(state: Arc<Self>, registry: ActivityRegistryBuilder) -> ActivityRegistryBuilder;
}

/// A state or an `Arc` of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no activities",
    label = "no `impl` block of this type has `#[activity]`",
    note = "add `#[activity]` to the `impl` block whose methods are activities"
)]
pub trait IntoState {
    /// The state.
    type State: ActivityState;

    /// The state, shared.
    fn into_state(self) -> Arc<Self::State>;
}

impl<S: ActivityState> IntoState for S {
    type State = S;

    fn into_state(self) -> Arc<S> {
        Arc::new(self)
    }
}

impl<S: ActivityState> IntoState for Arc<S> {
    type State = S;

    fn into_state(self) -> Arc<S> {
        self
    }
}

impl ActivityRegistryBuilder {
    /// Registers an activity by its function, which has `#[activity]`.
    pub fn register_fn<F, M>(self, activity: F) -> Self
    where
        F: RecordedFn<ActivityContext, M, Handle: Activity>,
    {
        let activity = Arc::new(activity);
        self.register_code::<F::Handle, _, _>(move |ctx, input| {
            let running = decoded_input::<F::Handle>("activity", &input)
                .map(|input| activity.start(ctx, input));
            async move { encoded_outcome::<F::Handle>(running?.await) }
        })
    }

    /// Registers one method of a state; [`register_state`](Self::register_state) registers all.
    pub fn register_method<S, F, M>(self, method: F, state: Arc<S>) -> Self
    where
        S: Send + Sync + 'static,
        F: MethodFn<S, ActivityContext, M, Handle: Activity>,
    {
        let method = Arc::new(method);
        self.register_code::<F::Handle, _, _>(move |ctx, input| {
            let (method, state) = (Arc::clone(&method), Arc::clone(&state));
            async move {
                let input = decoded_input::<F::Handle>("activity", &input)?;
                encoded_outcome::<F::Handle>(method.start(&state, ctx, input).await)
            }
        })
    }

    /// Registers all activities of a state, such as a database pool: a value or an `Arc` of a type
    /// that has an `impl` block with `#[activity]`.
    pub fn register_state<S: IntoState>(self, state: S) -> Self {
        S::State::register(state.into_state(), self)
    }

    /// Declares that only other nodes run this activity: a runtime that has orchestrations that
    /// call it starts without it.
    pub fn elsewhere<F, M>(mut self, activity: F) -> Self
    where
        F: CallableFn<M, Handle: Activity>,
    {
        // Only its type counts.
        drop(activity);
        self.declare_elsewhere(F::Handle::NAME);
        self
    }

    fn register_code<H, F, Fut>(self, code: F) -> Self
    where
        H: Activity,
        F: Fn(ActivityContext, String) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, String>> + Send + 'static,
    {
        self.register(H::NAME, code)
    }
}

impl OrchestrationRegistryBuilder {
    /// Registers an orchestration by its function, which has `#[orchestration]`, in the version
    /// that the attribute names, or else as 1.0.0.
    ///
    /// A runtime with this registry does not start if functions are missing that the code calls,
    /// as far as the attribute sees them.
    pub fn register_fn<F, M>(mut self, orchestration: F) -> Self
    where
        F: RecordedFn<OrchestrationContext, M, Handle: Orchestration>,
    {
        let name = F::Handle::NAME;
        let handler = Arc::new(FnOrchestration(move |ctx, input: String| {
            let running = decoded_input::<F::Handle>("orchestration", &input)
                .map(|input| orchestration.start(ctx, input));
            async move { encoded_outcome::<F::Handle>(running?.await) }
        }));
        for called in F::Handle::calls() {
            self.add_need(Need { caller: name, called });
        }
        let name = name.to_owned();
        match F::Handle::VERSION.map(Version::parse) {
            None => {
                let added = Registration { name, version: UNVERSIONED };
                self.add(added, handler, DUPLICATE);
            }
            Some(Ok(version)) => {
                let added = Registration { name, version };
                self.add(added, handler, DUPLICATE);
            }
            Some(Err(error)) => panic!("invalid version of orchestration '{name}': {error}"),
        }
        self
    }

    /// Declares that only other nodes run this orchestration: a runtime that has orchestrations
    /// that call it as a child starts without it.
    pub fn elsewhere<F, M>(mut self, orchestration: F) -> Self
    where
        F: CallableFn<M, Handle: Orchestration>,
    {
        // Only its type counts.
        drop(orchestration);
        self.declare_elsewhere(F::Handle::NAME);
        self
    }
}

/// A function that can be registered: an activity or an orchestration. `M` only tells the two apart
/// and is inferred.
#[diagnostic::on_unimplemented(
    message = "this function cannot be registered",
    label = "neither an activity nor an orchestration",
    note = "add `#[activity]` or `#[orchestration]` to the function, and pass the function itself, \
            without calling it; methods are registered with their state by `register_state`"
)]
pub trait Register<M> {
    /// Adds it to the registry of its kind.
    fn register_in(self, registries: Registries) -> Registries;
}

/// The builders of both registries.
#[derive(Default)]
pub struct Registries {
    /// The activities.
    pub activities: ActivityRegistryBuilder,
    /// The orchestrations.
    pub orchestrations: OrchestrationRegistryBuilder,
}

impl<F, M> Register<(ActivityContext, M)> for F
where
    F: RecordedFn<ActivityContext, M, Handle: Activity>,
{
    fn register_in(self, registries: Registries) -> Registries {
        Registries { activities: registries.activities.register_fn(self), ..registries }
    }
}

impl<F, M> Register<(OrchestrationContext, M)> for F
where
    F: RecordedFn<OrchestrationContext, M, Handle: Orchestration>,
{
    fn register_in(self, registries: Registries) -> Registries {
        Registries { orchestrations: registries.orchestrations.register_fn(self), ..registries }
    }
}

/// The input of a call. A function without parameters takes any.
fn decoded_input<H: Callable>(kind: &str, input: &str) -> Result<H::Input, String> {
    let what = || format!("the input of {kind} '{}'", H::NAME);
    let takes_none = TypeId::of::<H::Input>() == TypeId::of::<()>();
    codec::decode_as(what, if takes_none { "null" } else { input })
}

fn encoded_outcome<H: Callable>(outcome: Result<H::Output, H::Error>) -> Result<String, String> {
    match outcome {
        Ok(output) => codec::encode(&output),
        Err(error) => Err(H::encode_error(&error)),
    }
}
