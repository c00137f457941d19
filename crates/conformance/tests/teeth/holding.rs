//! Faults of holds and of raw reads.

use std::time::Duration;

use duroxide_core::providers::{
    HeldInstance, Provider, ProviderAdmin, ProviderError, ProviderErrorKind, StoredEvent,
    StoredEventsQuery,
};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

impl FaultyProvider {
    /// Holds an instance with the fault.
    pub(crate) async fn faulty_hold(
        &self,
        instance: &str,
        lock_timeout: Duration,
    ) -> Result<HeldInstance, ProviderError> {
        if self.has(Fault::HoldEndsSuspension) {
            self.inner.resume_instance(instance).await?;
        }
        let mut held = match self.inner.hold_instance(instance, lock_timeout).await {
            Err(error)
                if self.has(Fault::EndedHeld) && error.kind == ProviderErrorKind::Conflict =>
            {
                return Ok(HeldInstance::new("held".to_owned(), 1));
            }
            held => held?,
        };
        if self.has(Fault::HoldWithoutEffect) {
            self.inner.abandon_orchestration_item(&held.lock_token, None, true).await?;
        }
        if self.has(Fault::HoldHidesActivities) {
            held.activities.clear();
        }
        if self.has(Fault::HoldHidesCancellations) {
            held.cancellations.clear();
        }
        Ok(held)
    }

    /// Reads stored events with the fault.
    pub(crate) async fn faulty_stored_events(
        &self,
        query: StoredEventsQuery,
    ) -> Result<Vec<StoredEvent>, ProviderError> {
        if self.has(Fault::StoredPageCut) && query.after > 0 {
            return Ok(Vec::new());
        }
        let mut events = self.inner.read_stored_events(query).await?;
        if self.has(Fault::RawEventsOmitted) {
            events.retain(|event| event.decoded().is_some());
        }
        Ok(events)
    }
}
