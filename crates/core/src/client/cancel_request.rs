//! Requests to an instance to end by itself.

use std::time::Duration;

use super::{Client, ClientError};
use crate::model::cancel_request::SentCancelRequest;
use crate::model::{CancelRequest, OrchestrationStatus};
use crate::providers::{ClientMessage, Delivery, ProviderErrorKind};

impl Client {
    /// Whether an instance has ended, so that a cancellation has no effect. One whose start is
    /// queued has not; neither has one whose history cannot be read.
    ///
    /// # Errors
    /// Of the store. An unknown instance has not ended: the cancellation itself reports it.
    pub async fn has_ended(&self, instance: &str) -> Result<bool, ClientError> {
        match self.get_orchestration_status(instance).await {
            Ok(OrchestrationStatus::Completed { .. } | OrchestrationStatus::Failed { .. }) => {
                Ok(true)
            }
            Ok(OrchestrationStatus::Running { .. } | OrchestrationStatus::NotFound) => Ok(false),
            Err(ClientError::Provider(error)) if error.kind == ProviderErrorKind::Undecodable => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Asks an instance to end by itself within `grace`. Afterwards it is cancelled as by
    /// [`cancel_instance`](Self::cancel_instance).
    ///
    /// - Its code sees the request with
    ///   [`cancelled`](crate::OrchestrationContext::cancelled) and
    ///   [`cancellable`](crate::OrchestrationContext::cancellable), and may release and refund what
    ///   it holds. What it returns is the result of the instance.
    /// - Children that it waits for are asked in the same way, with the same deadline. Activities
    ///   are cancelled when the code gives them up.
    /// - The request reaches the next execution if the instance continues as new.
    /// - The call may be repeated: a request without a sooner deadline changes nothing.
    /// - The deadline counts from this call, by the clock of the store. The node that records the
    ///   request sets it: a suspended instance, and one that no live node can run, wait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// use std::time::Duration;
    ///
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let grace = Duration::from_secs(600);
    /// client.request_cancellation("order-7", "the customer withdrew it", grace).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ClientError::InstanceNotFound`] if there is no such instance.
    pub async fn request_cancellation(
        &self,
        instance: impl Into<String>,
        reason: impl Into<String>,
        grace: Duration,
    ) -> Result<(), ClientError> {
        let (instance, reason) = (instance.into(), reason.into());
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        // A time that no clock reaches is none.
        let deadline_ms = self.provider().clock().now_ms().checked_add(grace_ms);
        let deadline_ms = deadline_ms.filter(|at| i64::try_from(*at).is_ok());
        let request = CancelRequest::new(reason, deadline_ms);
        let sent = SentCancelRequest { request, parent: None };
        let message = ClientMessage::new(sent.into_message(instance.clone())).to_existing();
        match self.provider().send_message(message).await? {
            Delivery::NotFound => Err(ClientError::InstanceNotFound { instance_id: instance }),
            Delivery::Enqueued | Delivery::Repeated | Delivery::Existing => Ok(()),
        }
    }
}
