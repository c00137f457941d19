//! Messages to a running instance.

use serde::Serialize;

use super::deliver::{refuse_queue_message, refuse_signal};
use super::handle::encode;
use super::{Client, ClientError};
use crate::model::WorkItem;

impl Client {
    /// Raises a positional signal: it reaches the wait that stands for it, and is kept only as
    /// long as the execution runs. A signal for an unknown instance is dropped; to be notified of
    /// that, or to repeat a signal safely, use [`deliver`](Self::deliver).
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// // The orchestration waits with `ctx.schedule_wait("approved")`.
    /// client.raise_event("order-7", "approved", "by the manager").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn raise_event(
        &self,
        instance: impl Into<String>,
        event_name: impl Into<String>,
        data: impl Into<String>,
    ) -> Result<(), ClientError> {
        let (instance, name, data) = (instance.into(), event_name.into(), data.into());
        if let Some(message) = refuse_signal(&instance, &name) {
            return Err(ClientError::InvalidInput { message });
        }
        self.send(WorkItem::ExternalRaised { instance, name, data }).await
    }

    /// Raises a signal with a topic. Only tests of upgrades use it.
    #[cfg(feature = "replay-version-test")]
    pub async fn raise_event2(
        &self,
        instance: impl Into<String>,
        event_name: impl Into<String>,
        topic: impl Into<String>,
        data: impl Into<String>,
    ) -> Result<(), ClientError> {
        let (instance, name) = (instance.into(), event_name.into());
        let (topic, data) = (topic.into(), data.into());
        self.send(WorkItem::ExternalRaised2 { instance, name, topic, data }).await
    }

    /// Like [`raise_event`](Self::raise_event) with an encoded payload.
    pub async fn raise_event_typed<T: Serialize>(
        &self,
        instance: impl Into<String>,
        event_name: impl Into<String>,
        data: &T,
    ) -> Result<(), ClientError> {
        self.raise_event(instance, event_name, encode(data)?).await
    }

    /// Puts a message into a queue of the instance. Messages are read in order, each once, and
    /// unread ones move on when the instance continues as new. A message for an unknown instance
    /// waits for it. To repeat a message safely, use [`deliver`](Self::deliver).
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// // The orchestration reads them, in this order, with `ctx.dequeue_event("changes")`.
    /// client.enqueue_event("order-7", "changes", "4 apples").await?;
    /// client.enqueue_event("order-7", "changes", "5 apples").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn enqueue_event(
        &self,
        instance: impl Into<String>,
        queue: impl Into<String>,
        data: impl Into<String>,
    ) -> Result<(), ClientError> {
        let (instance, name, data) = (instance.into(), queue.into(), data.into());
        if let Some(message) = refuse_queue_message(&instance, &name) {
            return Err(ClientError::InvalidInput { message });
        }
        self.send(WorkItem::QueueMessage { instance, name, data }).await
    }

    /// Like [`enqueue_event`](Self::enqueue_event) with an encoded payload.
    pub async fn enqueue_event_typed<T: Serialize>(
        &self,
        instance: impl Into<String>,
        queue: impl Into<String>,
        data: &T,
    ) -> Result<(), ClientError> {
        self.enqueue_event(instance, queue, encode(data)?).await
    }

    /// Earlier name of [`enqueue_event`](Self::enqueue_event).
    #[deprecated(note = "use enqueue_event")]
    pub async fn raise_event_persistent(
        &self,
        instance: impl Into<String>,
        event_name: impl Into<String>,
        data: impl Into<String>,
    ) -> Result<(), ClientError> {
        self.enqueue_event(instance, event_name, data).await
    }

    /// Asks an instance to end. It fails with `canceled: {reason}`, and so do its children. A
    /// request for an unknown instance is dropped; to be notified of that, use
    /// [`deliver`](Self::deliver).
    ///
    /// If no live node can run the instance, any node that runs turns or activities ends it in the
    /// same way, within seconds. Without such a node the request waits; to end an instance at once,
    /// use [`terminate_instance`](Self::terminate_instance).
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// client.cancel_instance("order-7", "the customer withdrew it").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn cancel_instance(
        &self,
        instance: impl Into<String>,
        reason: impl Into<String>,
    ) -> Result<(), ClientError> {
        let (instance, reason) = (instance.into(), reason.into());
        let cancel =
            WorkItem::CancelInstance { instance: instance.clone(), reason: reason.clone() };
        self.send(cancel).await?;
        self.cancel_suspended(&instance, &reason).await
    }
}
