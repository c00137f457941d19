//! Histories as they are stored, with events that this build does not know.

use super::{Client, ClientError};
use crate::providers::{StoredEvent, StoredEventsQuery};

impl Client {
    /// The history of the latest execution. An event that this build cannot decode comes as it is
    /// stored, where [`read_execution_history`](Self::read_execution_history) fails.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// use duroxide::providers::StoredEvent;
    ///
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// for event in client.read_stored_history("order-7").await? {
    ///     if let StoredEvent::Raw(event) = event {
    ///         println!("{} of kind {:?}: {}", event.event_id, event.kind, event.text);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_stored_history(
        &self,
        instance: &str,
    ) -> Result<Vec<StoredEvent>, ClientError> {
        let execution_id = self.admin()?.latest_execution_id(instance).await?;
        self.read_stored_execution(instance, execution_id).await
    }

    /// Like [`read_stored_history`](Self::read_stored_history) for one execution.
    pub async fn read_stored_execution(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<StoredEvent>, ClientError> {
        let mut history = Vec::new();
        let mut query = StoredEventsQuery::new(instance, execution_id);
        loop {
            let events = self.admin()?.read_stored_events(query.clone()).await?;
            let Some(last) = events.last().map(StoredEvent::event_id) else { return Ok(history) };
            history.extend(events);
            query = query.behind(last);
        }
    }
}
