//! Faults of executions that an operator's call stores.

use duroxide_core::providers::{
    ExpectedInstance, NewExecution, ProviderAdmin, ProviderError, StoredEvent, StoredEventsQuery,
};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

impl FaultyProvider {
    /// Stores an execution with the fault.
    pub(crate) async fn faulty_store_execution(
        &self,
        mut execution: NewExecution,
    ) -> Result<(), ProviderError> {
        if self.has(Fault::ReopenedUnexpected) {
            self.expect_what_is_stored(&mut execution).await?;
        }
        if self.has(Fault::ReopenedKeysKept) {
            execution.kv = None;
        }
        if self.has(Fault::ReopenedWorkLost) {
            execution.commit.activities.clear();
        }
        if self.has(Fault::ReopenedStatusKept) {
            execution.custom_status = None;
        }
        if self.has(Fault::ReopenedOrderLost) {
            execution.commit.own_messages.reverse();
        }
        self.inner.store_execution(execution).await
    }

    async fn expect_what_is_stored(
        &self,
        execution: &mut NewExecution,
    ) -> Result<(), ProviderError> {
        if let ExpectedInstance::Ended { execution_id, last_event_id } = &mut execution.expected {
            let instance = execution.instance.as_str();
            *execution_id = self.inner.latest_execution_id(instance).await?;
            let query = StoredEventsQuery::new(instance, *execution_id);
            let events = self.inner.read_stored_events(query).await?;
            *last_event_id = events.last().map_or(0, StoredEvent::event_id);
        }
        Ok(())
    }
}
