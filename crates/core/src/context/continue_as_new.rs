//! Ending this execution by starting the next.

use std::future::{Future, pending};

use serde::Serialize;

use super::activities::encoded;
use super::orchestration::OrchestrationContext;
use crate::model::Action;

impl OrchestrationContext {
    /// Ends this execution and starts the next with `input`, in the version that the registry
    /// chooses then. Decided at the call; the future never ends, so return it or await it.
    #[must_use = "return or await this, so that nothing runs after the decision"]
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
    #[must_use = "return or await this, so that nothing runs after the decision"]
    pub fn continue_as_new_typed<In: Serialize>(
        &self,
        input: &In,
    ) -> impl Future<Output = Result<String, String>> {
        self.continue_with(encoded(input), None)
    }

    /// Like [`continue_as_new`](Self::continue_as_new), in the given version.
    #[must_use = "return or await this, so that nothing runs after the decision"]
    pub fn continue_as_new_versioned(
        &self,
        version: impl Into<String>,
        input: impl Into<String>,
    ) -> impl Future<Output = Result<String, String>> {
        self.continue_with(input.into(), Some(version.into()))
    }

    fn continue_with(
        &self,
        input: String,
        version: Option<String>,
    ) -> impl Future<Output = Result<String, String>> {
        self.shared.state().emit(Action::ContinueAsNew { input, version });
        pending()
    }
}
