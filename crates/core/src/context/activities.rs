//! Scheduling activities.

use serde::{Serialize, de::DeserializeOwned};

use super::activity_options::ActivityOptions;
use super::future::DurableFuture;
use super::orchestration::{OrchestrationContext, text_result};
use crate::model::{Action, ScheduleKind, codec};

impl OrchestrationContext {
    /// Schedules an activity.
    pub fn schedule_activity(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        self.call_activity(name.into(), input.into(), ActivityOptions::default())
    }

    /// Schedules an activity with typed input and output.
    ///
    /// # Panics
    /// When the input cannot be encoded.
    pub fn schedule_activity_typed<In: Serialize, Out: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
        input: &In,
    ) -> DurableFuture<Result<Out, String>> {
        self.schedule_activity(name, encoded(input)).map(decoded)
    }

    /// Schedules an activity that runs where the session lives.
    pub fn schedule_activity_on_session(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        session_id: impl Into<String>,
    ) -> DurableFuture<Result<String, String>> {
        let options = ActivityOptions::new().with_session(session_id);
        self.call_activity(name.into(), input.into(), options)
    }

    /// Schedules an activity with typed input and output that runs where the session lives.
    ///
    /// # Panics
    /// When the input cannot be encoded.
    pub fn schedule_activity_on_session_typed<
        In: Serialize,
        Out: DeserializeOwned + Send + 'static,
    >(
        &self,
        name: impl Into<String>,
        input: &In,
        session_id: impl Into<String>,
    ) -> DurableFuture<Result<Out, String>> {
        self.schedule_activity_on_session(name, encoded(input), session_id).map(decoded)
    }

    /// Schedules an activity with choices about where and by when it is started.
    pub fn schedule_activity_with_options(
        &self,
        name: impl Into<String>,
        input: impl Into<String>,
        options: ActivityOptions,
    ) -> DurableFuture<Result<String, String>> {
        self.call_activity(name.into(), input.into(), options)
    }

    /// The typed form of
    /// [`schedule_activity_with_options`](Self::schedule_activity_with_options).
    ///
    /// # Panics
    /// When the input cannot be encoded.
    pub fn schedule_activity_with_options_typed<
        In: Serialize,
        Out: DeserializeOwned + Send + 'static,
    >(
        &self,
        name: impl Into<String>,
        input: &In,
        options: ActivityOptions,
    ) -> DurableFuture<Result<Out, String>> {
        self.schedule_activity_with_options(name, encoded(input), options).map(decoded)
    }

    pub(crate) fn call_activity(
        &self,
        name: String,
        input: String,
        options: ActivityOptions,
    ) -> DurableFuture<Result<String, String>> {
        let ActivityOptions { tag, session_id, schedule_to_start_limit } = options;
        let kind = ScheduleKind::Activity { name: name.clone() };
        let action = Action::CallActivity { scheduling_event_id: 0, name, input, session_id, tag };
        let future = self.schedule(action, kind, text_result);
        match schedule_to_start_limit {
            Some(limit) => future.with_schedule_to_start_limit(limit),
            None => future,
        }
    }
}

/// Encodes an input. The caller's type is at fault if that fails, and replay would fail alike.
pub(crate) fn encoded<In: Serialize + ?Sized>(input: &In) -> String {
    match codec::encode(input) {
        Ok(text) => text,
        Err(error) => panic!("encode: {error}"),
    }
}

/// Decodes a result; a text that does not fit is an error of the call.
pub(crate) fn decoded<Out: DeserializeOwned>(
    result: Result<String, String>,
) -> Result<Out, String> {
    result.and_then(|text| codec::decode(&text))
}
