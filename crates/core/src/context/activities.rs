//! Scheduling activities.

use std::panic::Location;

use serde::{Serialize, de::DeserializeOwned};

use super::activity_options::ActivityOptions;
use super::future::DurableFuture;
use super::orchestration::{OrchestrationContext, text_result};
use super::state::CallSite;
use crate::model::{Action, ScheduleKind, codec};

impl OrchestrationContext {
    /// Schedules an activity and returns the future of its result.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn place_order(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    ///     let receipt = ctx.schedule_activity("Charge", order.clone()).await?;
    ///     let parcel = ctx.schedule_activity("Ship", order).await?;
    ///     Ok(format!("{receipt}, {parcel}"))
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_activity(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let options = ActivityOptions::default();
        self.call_activity(Location::caller(), name.into(), input.into(), options)
    }

    /// The typed form of [`schedule_activity`](Self::schedule_activity). An output that does not
    /// decode is an `Err`.
    ///
    /// # Panics
    /// When the input cannot be encoded.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// #[derive(serde::Serialize)]
    /// struct Order {
    ///     article: String,
    ///     quantity: u32,
    /// }
    ///
    /// async fn price(ctx: OrchestrationContext, article: String) -> Result<u64, String> {
    ///     let order = Order { article, quantity: 3 };
    ///     ctx.schedule_activity_typed("Price", &order).await
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_activity_typed<In: Serialize, Out: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>> {
        let name = name.into();
        self.schedule_activity(name.clone(), encoded(input)).map(activity_result(name))
    }

    /// Schedules an activity on a session: all activities of a session run on the same worker.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn transcode(ctx: OrchestrationContext, video: String) -> Result<String, String> {
    ///     // The second activity finds the file that the first one has downloaded.
    ///     let session = ctx.new_guid().await?;
    ///     let file = ctx.schedule_activity_on_session("Download", video, session.as_str()).await?;
    ///     ctx.schedule_activity_on_session("Transcode", file, session).await
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_activity_on_session(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        session_id: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let options = ActivityOptions::new().with_session(session_id);
        self.call_activity(Location::caller(), name.into(), input.into(), options)
    }

    /// The typed form of [`schedule_activity_on_session`](Self::schedule_activity_on_session).
    ///
    /// # Panics
    /// When the input cannot be encoded.
    #[track_caller]
    pub fn schedule_activity_on_session_typed<
        In: Serialize,
        Out: DeserializeOwned + Send + 'static,
    >(
        &self,
        name: impl Into<String>,
        input: &In,
        session_id: impl Into<String>,
    ) -> DurableFuture<Result<Out, String>> {
        let name = name.into();
        self.schedule_activity_on_session(name.clone(), encoded(input), session_id)
            .map(activity_result(name))
    }

    /// Schedules an activity with options: which worker may run it, and how soon it must start.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use std::time::Duration;
    ///
    /// use duroxide::{ActivityOptions, OrchestrationContext};
    ///
    /// async fn render(ctx: OrchestrationContext, scene: String) -> Result<String, String> {
    ///     let options = ActivityOptions::new()
    ///         .with_tag("gpu")
    ///         .with_schedule_to_start_limit(Duration::from_secs(600));
    ///     ctx.schedule_activity_with_options("Render", scene, options).await
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_activity_with_options(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        options: ActivityOptions,
    ) -> DurableFuture<Result<String, String>> {
        self.call_activity(Location::caller(), name.into(), input.into(), options)
    }

    /// The typed form of
    /// [`schedule_activity_with_options`](Self::schedule_activity_with_options).
    ///
    /// # Panics
    /// When the input cannot be encoded.
    #[track_caller]
    pub fn schedule_activity_with_options_typed<
        In: Serialize,
        Out: DeserializeOwned + Send + 'static,
    >(
        &self,
        name: impl Into<String>,
        input: &In,
        options: ActivityOptions,
    ) -> DurableFuture<Result<Out, String>> {
        let name = name.into();
        self.schedule_activity_with_options(name.clone(), encoded(input), options)
            .map(activity_result(name))
    }

    pub(crate) fn call_activity(
        &self,
        site: CallSite,
        name: String,
        input: String,
        options: ActivityOptions,
    ) -> DurableFuture<Result<String, String>> {
        let ActivityOptions { tag, session_id, schedule_to_start_limit } = options;
        let kind = ScheduleKind::Activity { name: name.clone() };
        let action = Action::CallActivity { scheduling_event_id: 0, name, input, session_id, tag };
        let future = self.schedule_at(site, |_token| (action, kind), text_result);
        match schedule_to_start_limit {
            Some(limit) => future.with_schedule_to_start_limit(limit),
            None => future,
        }
    }
}

/// Encodes an input. A failure is a defect of the caller's type, and every replay fails alike.
pub(crate) fn encoded<In: Serialize + ?Sized>(input: &In) -> String {
    match codec::encode(input) {
        Ok(text) => text,
        Err(error) => panic!("encode: {error}"),
    }
}

/// Decodes a result. A text that does not decode is an error of the call.
pub(crate) fn decoded<Out: DeserializeOwned>(
    kind: &str,
    name: &str,
    result: Result<String, String>,
) -> Result<Out, String> {
    let what = || format!("the result of {kind} '{name}'");
    result.and_then(|text| codec::decode_as(what, &text))
}

/// Decodes the result of an activity.
pub(crate) fn activity_result<Out: DeserializeOwned>(
    name: String,
) -> impl FnOnce(Result<String, String>) -> Result<Out, String> {
    move |result| decoded("activity", &name, result)
}
