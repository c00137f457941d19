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
    pub fn schedule_wait(&self, name: impl Into<String>) -> DurableFuture<String> {
        let name = name.into();
        let kind = ScheduleKind::ExternalWait { event_name: name.clone() };
        let action = Action::WaitExternal { scheduling_event_id: 0, name };
        self.schedule(action, kind, external_data)
    }

    /// The typed form of [`schedule_wait`](Self::schedule_wait).
    ///
    /// # Panics
    /// The future panics when the payload does not decode, which fails the orchestration. Wait for
    /// the text and decode it in the code if senders are not trusted.
    pub fn schedule_wait_typed<T: DeserializeOwned + Send + 'static>(
        &self,
        name: impl Into<String>,
    ) -> DurableFuture<T> {
        self.schedule_wait(name).map(|data| decoded_or_panic(&data))
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
    pub fn dequeue_event(&self, queue: impl Into<String>) -> DurableFuture<String> {
        let name = queue.into();
        let kind = ScheduleKind::QueueDequeue { event_name: name.clone() };
        let action = Action::DequeueEvent { scheduling_event_id: 0, name };
        self.schedule(action, kind, external_data)
    }

    /// The typed form of [`dequeue_event`](Self::dequeue_event).
    ///
    /// # Panics
    /// The future panics when the payload does not decode, which fails the orchestration.
    pub fn dequeue_event_typed<T: DeserializeOwned>(
        &self,
        queue: impl Into<String>,
    ) -> impl Future<Output = T> {
        let message = self.dequeue_event(queue);
        async move { decoded_or_panic(&message.await) }
    }

    /// Earlier name of [`dequeue_event`](Self::dequeue_event).
    #[deprecated(note = "use dequeue_event")]
    pub fn schedule_wait_persistent(&self, name: impl Into<String>) -> DurableFuture<String> {
        self.dequeue_event(name)
    }

    /// Earlier name of [`dequeue_event_typed`](Self::dequeue_event_typed).
    #[deprecated(note = "use dequeue_event_typed")]
    pub fn schedule_wait_persistent_typed<T: DeserializeOwned>(
        &self,
        name: impl Into<String>,
    ) -> impl Future<Output = T> {
        self.dequeue_event_typed(name)
    }
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

fn decoded_or_panic<T: DeserializeOwned>(data: &str) -> T {
    match codec::decode(data) {
        Ok(value) => value,
        Err(error) => panic!("decode: {error:?}"),
    }
}
