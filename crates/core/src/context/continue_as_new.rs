//! Continue-as-new: completes this execution and starts the next one.

use std::future::{Future, pending};

use serde::Serialize;

use super::activities::encoded;
use super::orchestration::OrchestrationContext;
use crate::model::Action;
use crate::typed::{CallInput, Callable, CallableFn, Orchestration};

/// What an orchestration returns.
type Outcome<H> = Result<<H as Callable>::Output, <H as Callable>::Error>;

impl OrchestrationContext {
    /// Completes this execution and starts the next one with `input`, in the version that the
    /// registry resolves at that time. The next execution has an empty history.
    ///
    /// The call makes the decision; the future never completes. Return it or await it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn poll_sensor(ctx: OrchestrationContext, sensor: String) -> Result<String, String> {
    ///     ctx.schedule_activity("Read", sensor.clone()).await?;
    ///     ctx.schedule_timer(Duration::from_secs(60)).await;
    ///     ctx.continue_as_new(sensor).await
    /// }
    /// ```
    #[must_use = "return or await this future, so that no code runs after the decision"]
    #[track_caller]
    pub fn continue_as_new(
        &self,
        input: impl Into<String>,
    ) -> impl Future<Output = Result<String, String>> {
        self.continue_with(input.into(), None)
    }

    /// The typed form of [`continue_as_new`](Self::continue_as_new).
    ///
    /// # Panics
    /// When the input cannot be encoded.
    #[must_use = "return or await this future, so that no code runs after the decision"]
    #[track_caller]
    pub fn continue_as_new_typed<In: Serialize>(
        &self,
        input: &In,
    ) -> impl Future<Output = Result<String, String>> {
        self.continue_with(encoded(input), None)
    }

    /// Like [`continue_as_new`](Self::continue_as_new) in a function that has `#[orchestration]`,
    /// which names itself here: the input must be its own, and the future has its result type, so
    /// that it can be returned as it is.
    ///
    /// # Panics
    /// When the input cannot be encoded.
    #[must_use = "return or await this future, so that no code runs after the decision"]
    #[track_caller]
    pub fn continue_as<F, M>(
        &self,
        orchestration: F,
        input: impl CallInput<<F::Handle as Callable>::Input>,
    ) -> impl Future<Output = Outcome<F::Handle>>
    where
        F: CallableFn<M, Handle: Orchestration>,
    {
        // Only its type counts.
        drop(orchestration);
        let input = input.encode().unwrap_or_else(|error| {
            panic!("cannot encode the input of orchestration '{}': {error}", F::Handle::NAME)
        });
        self.decide_to_continue(input, None);
        pending()
    }

    /// Like [`continue_as_new`](Self::continue_as_new), with a fixed version.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn upgrade(ctx: OrchestrationContext, state: String) -> Result<String, String> {
    ///     ctx.continue_as_new_versioned("2.0.0", state).await
    /// }
    /// ```
    #[must_use = "return or await this future, so that no code runs after the decision"]
    #[track_caller]
    pub fn continue_as_new_versioned(
        &self,
        version: impl Into<String>,
        input: impl Into<String>,
    ) -> impl Future<Output = Result<String, String>> {
        self.continue_with(input.into(), Some(version.into()))
    }

    #[track_caller]
    fn continue_with(
        &self,
        input: String,
        version: Option<String>,
    ) -> impl Future<Output = Result<String, String>> {
        self.decide_to_continue(input, version);
        pending()
    }

    #[track_caller]
    fn decide_to_continue(&self, input: String, version: Option<String>) {
        self.shared.state().emit(Action::ContinueAsNew { input, version });
    }
}
