//! Faults of what is reported of the queues of one instance.

use duroxide_core::providers::{
    InstanceQueues, InstanceQueuesQuery, ProviderAdmin, ProviderError, TurnLease,
};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

impl FaultyProvider {
    /// Reads the queues of an instance with the fault.
    pub(crate) async fn faulty_instance_queues(
        &self,
        query: InstanceQueuesQuery,
    ) -> Result<Option<InstanceQueues>, ProviderError> {
        if self.has(Fault::InstanceQueuesHidden) {
            return Ok(None);
        }
        let Some(mut queues) = self.inner.read_instance_queues(query).await? else {
            return Ok(None);
        };
        spoil(self.fault(), &mut queues);
        Ok(Some(queues))
    }
}

fn spoil(fault: Option<Fault>, queues: &mut InstanceQueues) {
    let (messages, activities) = (&mut queues.messages, &mut queues.activities);
    match fault {
        Some(Fault::InstanceKindsOmitted) => messages.truncate(1),
        Some(Fault::InstanceMessagesAllReady) => messages.iter_mut().for_each(|it| {
            it.ready += std::mem::take(&mut it.delayed);
        }),
        Some(Fault::InstanceQueuesCut) => {
            (queues.has_more_messages, queues.has_more_activities) = (false, false);
        }
        Some(Fault::InstanceLeaseHidden) => queues.lease = None,
        Some(Fault::InstanceLeaseForever) => activities.iter_mut().for_each(|it| {
            it.leased_until_ms = it.leased_until_ms.or((it.attempts > 0).then_some(u64::MAX));
        }),
        Some(Fault::InstanceFetchesUncounted) => {
            messages.iter_mut().for_each(|it| it.attempts = 0);
            activities.iter_mut().for_each(|it| it.attempts = 0);
        }
        Some(Fault::InstanceNeedsLost) => (queues.code, queues.pin) = (None, None),
        Some(Fault::SuspensionShownAsLease) => {
            queues.lease = queues.lease.map(|it| TurnLease::of_node(it.until_ms.unwrap_or(0)));
        }
        Some(Fault::InstanceProgressHidden) => {
            activities.iter_mut().for_each(|it| it.progress = None)
        }
        Some(Fault::SessionOwnerHidden) => {
            activities.iter_mut().for_each(|it| it.session_owner = None)
        }
        Some(Fault::StartLimitHidden) => activities.iter_mut().for_each(|it| it.start_by_ms = None),
        _other => {}
    }
}
