//! Faults of messages of clients.

use duroxide_core::providers::{
    ClientMessage, Delivery, InstanceOutcome, Provider, ProviderError, WorkItem,
};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

impl FaultyProvider {
    /// Sends a message with the fault applied.
    pub(crate) async fn faulty_send(
        &self,
        mut message: ClientMessage,
    ) -> Result<Delivery, ProviderError> {
        let instance = message.item.target_instance().to_owned();
        if self.has(Fault::UnknownAccepted) {
            message.existing_only = false;
        }
        if self.has(Fault::MessageIdIgnored) {
            message.id = None;
        }
        if matches!(message.item, WorkItem::StartOrchestration { .. }) {
            return self.faulty_start(message).await;
        }
        if self.has(Fault::QueuedStartUnknown) && message.existing_only {
            let outcome = self.inner.read_outcome(&instance).await?;
            if matches!(outcome, InstanceOutcome::NotFound) {
                return Ok(Delivery::NotFound);
            }
        }
        if let Some(id) = &message.id {
            let used = (instance, id.clone());
            let mut noted = self.memory.noted();
            let is_known = noted.message_ids.iter().any(|known| match self.fault() {
                Some(Fault::MessageIdsGlobal) => known.1 == used.1,
                Some(Fault::MessageIdsKept) => *known == used,
                _other => false,
            });
            if is_known {
                return Ok(Delivery::Repeated);
            }
            noted.message_ids.push(used);
        }
        self.inner.send_message(message).await
    }

    /// Starts an instance with the fault applied.
    async fn faulty_start(&self, message: ClientMessage) -> Result<Delivery, ProviderError> {
        let instance = message.item.target_instance().to_owned();
        let enqueues = match self.fault() {
            Some(Fault::StartAlwaysNew) => true,
            Some(Fault::QueuedStartNew) => {
                let outcome = self.inner.read_outcome(&instance).await?;
                matches!(outcome, InstanceOutcome::NotFound)
            }
            Some(Fault::StartsNotAtomic) => {
                let is_new = !self.memory.noted().started.contains(&instance);
                // All callers have checked before the first one enqueues.
                for _ in 0..100 {
                    tokio::task::yield_now().await;
                }
                self.memory.noted().started.push(instance.clone());
                is_new && message.id.is_none() && {
                    let outcome = self.inner.read_outcome(&instance).await?;
                    matches!(outcome, InstanceOutcome::NotFound)
                }
            }
            _other => false,
        };
        if enqueues {
            self.inner.enqueue_for_orchestrator(message.item, None).await?;
            return Ok(Delivery::Enqueued);
        }
        let id = message.id.clone().map(|id| (instance, id));
        let delivery = self.inner.send_message(message).await?;
        let mut noted = self.memory.noted();
        let was_refused = id.as_ref().is_some_and(|id| noted.message_ids.contains(id));
        match (self.fault(), delivery) {
            (Some(Fault::RepeatedStartExists), Delivery::Repeated) => Ok(Delivery::Existing),
            (Some(Fault::RefusedStartNoted), Delivery::Existing) if was_refused => {
                Ok(Delivery::Repeated)
            }
            (Some(Fault::RefusedStartNoted), Delivery::Existing) => {
                noted.message_ids.extend(id);
                Ok(Delivery::Existing)
            }
            (_other, delivery) => Ok(delivery),
        }
    }

    /// Enqueues a message; the fault keeps a cancellation until its instance starts.
    pub(crate) async fn faulty_useless(&self, item: &WorkItem) -> Result<bool, ProviderError> {
        if !self.has(Fault::UselessKept) {
            return Ok(false);
        }
        let instance = item.target_instance();
        if item.is_start() {
            let kept = std::mem::take(&mut self.memory.noted().useless);
            for message in kept.into_iter().filter(|kept| kept.target_instance() == instance) {
                self.inner.enqueue_for_orchestrator(message, None).await?;
            }
            return Ok(false);
        }
        let outcome = self.inner.read_outcome(instance).await?;
        let keeps = matches!(item, WorkItem::CancelInstance { .. })
            && matches!(outcome, InstanceOutcome::NotFound);
        if keeps {
            self.memory.noted().useless.push(item.clone());
        }
        Ok(keeps)
    }

    /// The fault brings back the child starts of a deleted parent.
    pub(crate) async fn keep_pending_children(&self, parent: &str) -> Result<(), ProviderError> {
        if !self.has(Fault::PendingChildrenKept) {
            return Ok(());
        }
        let starts = std::mem::take(&mut self.memory.noted().child_starts);
        for start in starts {
            let is_child = matches!(
                &start,
                WorkItem::StartOrchestration { parent_instance: Some(by), .. } if by == parent
            );
            if is_child {
                self.inner.enqueue_for_orchestrator(start, None).await?;
            }
        }
        Ok(())
    }
}
