//! Waits for positional signals and for messages of FIFO queues.

use std::future::Future;

use serde::de::DeserializeOwned;

use super::future::DurableFuture;
use super::orchestration::OrchestrationContext;
use crate::model::{Action, CompletionResult, ScheduleKind, codec};

impl OrchestrationContext {
    /// Waits for a signal. The n-th wait for a name receives the n-th signal of that name. A signal
    /// that arrives before the wait is recorded is lost; [`dequeue_event`](Self::dequeue_event)
    /// loses none.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn approval(ctx: OrchestrationContext, _order: String) -> Result<String, String> {
    ///     // A client sends it with `client.raise_event(instance, "approved", "…")`.
    ///     let approver = ctx.schedule_wait("approved").await;
    ///     Ok(format!("approved by {approver}"))
    /// }
    /// ```
    #[track_caller]
    pub fn schedule_wait(&self, name: impl Into<String>) -> DurableFuture<String> {
        let name = name.into();
        let kind = ScheduleKind::ExternalWait { event_name: name.clone() };
        let action = Action::WaitExternal { scheduling_event_id: 0, name };
        self.schedule(action, kind, external_data)
    }

    /// The typed form of [`schedule_wait`](Self::schedule_wait).
    ///
    /// # Panics
    /// The future panics when the payload does not decode, which fails the orchestration. Use
    /// [`try_schedule_wait_typed`](Self::try_schedule_wait_typed) if senders are not trusted.
    #[track_caller]
    pub fn schedule_wait_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
    ) -> DurableFuture<T> {
        let payload = self.payload("signal", name.into());
        self.schedule_wait(payload.name.clone()).map(move |data| payload.decoded_or_panic(&data))
    }

    /// Like [`schedule_wait_typed`](Self::schedule_wait_typed); a payload that does not decode is
    /// an `Err` that names orchestration, signal and type.
    #[track_caller]
    pub fn try_schedule_wait_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
    ) -> DurableFuture<Result<T, String>> {
        let payload = self.payload("signal", name.into());
        self.schedule_wait(payload.name.clone()).map(move |data| payload.decoded(&data))
    }

    /// Receives the next message of a queue, in the order of arrival, and waits while the queue is
    /// empty. Unread messages survive continue-as-new.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn collect(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    ///     // A client sends them with `client.enqueue_event(instance, "lines", "…")`.
    ///     let mut lines = Vec::new();
    ///     loop {
    ///         let line = ctx.dequeue_event("lines").await;
    ///         if line.is_empty() {
    ///             return Ok(lines.join("\n"));
    ///         }
    ///         lines.push(line);
    ///     }
    /// }
    /// ```
    #[track_caller]
    pub fn dequeue_event(&self, queue: impl Into<String>) -> DurableFuture<String> {
        let name = queue.into();
        let kind = ScheduleKind::QueueDequeue { event_name: name.clone() };
        let action = Action::DequeueEvent { scheduling_event_id: 0, name };
        self.schedule(action, kind, external_data)
    }

    /// The typed form of [`dequeue_event`](Self::dequeue_event).
    ///
    /// # Panics
    /// The future panics when the payload does not decode, which fails the orchestration. Use
    /// [`try_dequeue_event_typed`](Self::try_dequeue_event_typed) if senders are not trusted.
    #[track_caller]
    pub fn dequeue_event_typed<T: DeserializeOwned>(
        &self,
        queue: impl Into<String>,
    ) -> impl Future<Output = T> {
        let payload = self.payload("queue", queue.into());
        let message = self.dequeue_event(payload.name.clone());
        async move { payload.decoded_or_panic(&message.await) }
    }

    /// Like [`dequeue_event_typed`](Self::dequeue_event_typed); a message that does not decode is
    /// an `Err` that names orchestration, queue and type. The message counts as received.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationContext;
    ///
    /// async fn sum(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    ///     let mut sum = 0;
    ///     while sum < 100 {
    ///         match ctx.try_dequeue_event_typed::<u32>("numbers").await {
    ///             Ok(number) => sum += number,
    ///             Err(error) => ctx.trace_warn(error),
    ///         }
    ///     }
    ///     Ok(sum.to_string())
    /// }
    /// ```
    #[track_caller]
    pub fn try_dequeue_event_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        queue: impl Into<String>,
    ) -> DurableFuture<Result<T, String>> {
        let payload = self.payload("queue", queue.into());
        self.dequeue_event(payload.name.clone()).map(move |data| payload.decoded(&data))
    }

    /// Waits for a signal with a topic. Only tests of upgrades use it.
    #[cfg(feature = "replay-version-test")]
    #[track_caller]
    pub fn schedule_wait2(
        &self,
        name: impl Into<String>,
        topic: impl Into<String>,
    ) -> DurableFuture<String> {
        let (name, topic) = (name.into(), topic.into());
        let kind = ScheduleKind::ExternalWait { event_name: name.clone() };
        let action = Action::WaitExternal2 { scheduling_event_id: 0, name, topic };
        self.schedule(action, kind, external_data)
    }

    fn payload(&self, kind: &'static str, name: String) -> Payload {
        Payload { orchestration: self.orchestration_name(), kind, name }
    }

    /// Earlier name of [`dequeue_event`](Self::dequeue_event).
    #[deprecated(note = "use dequeue_event")]
    #[track_caller]
    pub fn schedule_wait_persistent(&self, name: impl Into<String>) -> DurableFuture<String> {
        self.dequeue_event(name)
    }

    /// Earlier name of [`dequeue_event_typed`](Self::dequeue_event_typed).
    #[deprecated(note = "use dequeue_event_typed")]
    #[track_caller]
    pub fn schedule_wait_persistent_typed<T: DeserializeOwned>(
        &self,
        name: impl Into<String>,
    ) -> impl Future<Output = T> {
        self.dequeue_event_typed(name)
    }
}

/// The lane of waits for a signal with a topic, apart from those without.
#[cfg(feature = "replay-version-test")]
pub(crate) fn topic_lane(name: &str, topic: &str) -> String {
    format!("{name}\u{1f}{topic}")
}

fn external_data(result: CompletionResult) -> String {
    match result {
        CompletionResult::ExternalData(data) => data,
        CompletionResult::ActivityOk(text)
        | CompletionResult::ActivityErr(text)
        | CompletionResult::SubOrchOk(text)
        | CompletionResult::SubOrchErr(text) => text,
        CompletionResult::TimerFired => String::new(),
    }
}

/// Whose payload is decoded, for the error.
struct Payload {
    orchestration: String,
    kind: &'static str,
    name: String,
}

impl Payload {
    fn decoded<T: DeserializeOwned>(&self, data: &str) -> Result<T, String> {
        codec::decode_as(|| self.described(), data)
    }

    fn decoded_or_panic<T: DeserializeOwned>(&self, data: &str) -> T {
        match codec::decode(data) {
            Ok(value) => value,
            Err(error) => {
                let (what, wanted) = (self.described(), std::any::type_name::<T>());
                panic!("decode: {error:?}: cannot decode {what} as {wanted}")
            }
        }
    }

    fn described(&self) -> String {
        format!("{} '{}' of orchestration '{}'", self.kind, self.name, self.orchestration)
    }
}
