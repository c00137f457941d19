//! Histories as they are stored, with events that this build does not know.

use std::time::Duration;

use super::wait::Wait;
use super::{Client, ClientError};
use crate::providers::{ChangeScope, StoredEvent, StoredEventsQuery};

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

    /// The next events of an execution, as many as the store returns at once; none if there are no
    /// more. For histories that are too long to be held in memory.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// use duroxide::providers::StoredEventsQuery;
    ///
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let mut query = StoredEventsQuery::new("order-7", 1);
    /// loop {
    ///     let events = client.read_stored_events(query.clone()).await?;
    ///     let Some(last) = events.last() else { break };
    ///     query = query.behind(last.event_id());
    ///     println!("{} events", events.len());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_stored_events(
        &self,
        query: StoredEventsQuery,
    ) -> Result<Vec<StoredEvent>, ClientError> {
        Ok(self.admin()?.read_stored_events(query).await?)
    }

    /// Like [`read_stored_events`](Self::read_stored_events), but waits until there are events.
    ///
    /// # Errors
    /// [`Timeout`](ClientError::Timeout) if none arrive in time.
    pub async fn wait_for_stored_events(
        &self,
        query: StoredEventsQuery,
        timeout: Duration,
    ) -> Result<Vec<StoredEvent>, ClientError> {
        let mut wait = Wait::begin(self, ChangeScope::Instance(&query.instance), timeout);
        loop {
            let read = self.admin()?.read_stored_events(query.clone()).await;
            if let Some(events) = wait.passing(read)?
                && !events.is_empty()
            {
                return Ok(events);
            }
            wait.for_change().await?;
        }
    }
}
