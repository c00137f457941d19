//! Sub-orchestrations and detached starts.

use std::panic::Location;

use serde::{Serialize, de::DeserializeOwned};

use super::activities::{decoded, encoded};
use super::future::DurableFuture;
use super::orchestration::{OrchestrationContext, text_result};
use crate::model::ids::{SUB_ORCH_AUTO_PREFIX, refuse_child_id, refuse_root_id};
use crate::model::{Action, ScheduleKind};

impl OrchestrationContext {
    /// Starts a child under a generated id and returns the future of its result.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn place_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     ctx.schedule_sub_orchestration("Pay", order.clone()).await?;
    ///     ctx.schedule_sub_orchestration("Deliver", order).await
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_sub_orchestration(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        self.start_child(Child { name: name.into(), version: None, instance: None }, input.into())
    }

    /// Starts a child under the given id and returns the future of its result. An id that begins
    /// with the marker of generated ids is an `Err`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn place_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     // Clients can find the payment under this id.
    ///     let payment = format!("{}-payment", ctx.instance_id());
    ///     ctx.schedule_sub_orchestration_with_id("Pay", payment, order).await
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_sub_orchestration_with_id(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let instance = Some(instance.into());
        self.start_child(Child { name: name.into(), version: None, instance }, input.into())
    }

    /// Starts a child under a generated id; `None` lets the registry choose the version.
    #[track_caller]
    pub fn schedule_sub_orchestration_versioned(
        &self,
        name: impl Into<String>,
        version: Option<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        self.start_child(Child { name: name.into(), version, instance: None }, input.into())
    }

    /// Starts a child under the given id; `None` lets the registry choose the version.
    #[track_caller]
    pub fn schedule_sub_orchestration_versioned_with_id(
        &self,
        name: impl Into<String>,
        version: Option<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let instance = Some(instance.into());
        self.start_child(Child { name: name.into(), version, instance }, input.into())
    }

    /// The typed form of [`schedule_sub_orchestration`](Self::schedule_sub_orchestration).
    ///
    /// # Panics
    /// When the input cannot be encoded.
    #[track_caller]
    pub fn schedule_sub_orchestration_typed<
        In: Serialize,
        Out: DeserializeOwned + Send + 'static,
    >(
        &self,
        name: impl Into<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>> {
        let name = name.into();
        self.schedule_sub_orchestration(name.clone(), encoded(input))
            .map(move |result| decoded("sub-orchestration", &name, result))
    }

    /// The typed form of
    /// [`schedule_sub_orchestration_with_id`](Self::schedule_sub_orchestration_with_id).
    ///
    /// # Panics
    /// When the input cannot be encoded.
    #[track_caller]
    pub fn schedule_sub_orchestration_with_id_typed<
        In: Serialize,
        Out: DeserializeOwned + Send + 'static,
    >(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>> {
        let name = name.into();
        self.schedule_sub_orchestration_with_id(name.clone(), instance, encoded(input))
            .map(move |result| decoded("sub-orchestration", &name, result))
    }

    /// Starts an independent instance and does not wait for it.
    ///
    /// # Panics
    /// When the instance id contains the marker of generated child ids.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn place_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     let receipt = ctx.schedule_activity("Charge", order.clone()).await?;
    ///     ctx.schedule_orchestration("AskForReview", format!("review-{order}"), order);
    ///     Ok(receipt)
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_orchestration(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) {
        self.schedule_orchestration_versioned(name, None, instance, input);
    }

    /// The typed form of [`schedule_orchestration`](Self::schedule_orchestration).
    ///
    /// # Panics
    /// When the instance id contains the marker of generated child ids, or the input cannot be
    /// encoded.
    #[track_caller]
    pub fn schedule_orchestration_typed<In: Serialize>(
        &self,
        name: impl Into<String>,
        instance: impl Into<String>,
        input: &In,
    ) {
        self.schedule_orchestration_versioned(name, None, instance, encoded(input));
    }

    /// Starts an independent instance and does not wait for it; `None` lets the registry choose the
    /// version.
    ///
    /// # Panics
    /// When the instance id contains the marker of generated child ids.
    #[track_caller]
    pub fn schedule_orchestration_versioned(
        &self,
        name: impl Into<String>,
        version: Option<String>,
        instance: impl Into<String>,
        input: impl Into<String>,
    ) {
        let instance = instance.into();
        if let Some(refusal) = refuse_root_id(&instance) {
            panic!("{refusal}");
        }
        self.shared.state().emit(Action::StartOrchestrationDetached {
            scheduling_event_id: 0,
            name: name.into(),
            version,
            instance,
            input: input.into(),
        });
    }

    /// The typed form of
    /// [`schedule_orchestration_versioned`](Self::schedule_orchestration_versioned).
    ///
    /// # Panics
    /// When the instance id contains the marker of generated child ids, or the input cannot be
    /// encoded.
    #[track_caller]
    pub fn schedule_orchestration_versioned_typed<In: Serialize>(
        &self,
        name: impl Into<String>,
        version: Option<String>,
        instance: impl Into<String>,
        input: &In,
    ) {
        self.schedule_orchestration_versioned(name, version, instance, encoded(input));
    }

    #[track_caller]
    pub(super) fn start_child(
        &self,
        child: Child,
        input: String,
    ) -> DurableFuture<Result<String, String>> {
        if let Some(refusal) = child.instance.as_deref().and_then(refuse_child_id) {
            return DurableFuture::ready(Err(refusal));
        }
        let make = |token| {
            let action = Action::StartSubOrchestration {
                scheduling_event_id: 0,
                name: child.name,
                version: child.version,
                instance: child.instance.unwrap_or_else(|| placeholder(token)),
                input,
            };
            (action, ScheduleKind::SubOrchestration { token })
        };
        self.schedule_at(Location::caller(), make, text_result)
    }
}

/// A child to start. Without an instance id, the engine generates one when it records the start.
pub(super) struct Child {
    pub(super) name: String,
    pub(super) version: Option<String>,
    pub(super) instance: Option<String>,
}

/// Replaces a generated id until the schedule has its event id.
fn placeholder(token: u64) -> String {
    format!("{SUB_ORCH_AUTO_PREFIX}pending_{token}")
}
