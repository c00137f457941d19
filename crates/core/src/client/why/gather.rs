//! Reads what an answer is made of.

use super::ChildState;
use super::Why;
use super::assemble::Gathered;
use super::history::OpenWaits;
use crate::client::{Client, ClientError, LiveNodes};
use crate::limits::{WHY_LISTED_MAX, WHY_QUEUE_ROWS_MAX, WHY_ROUNDS_MAX};
use crate::model::{Event, ExecutionStatus};
use crate::providers::{
    InstanceInfo, InstanceOutcome, InstanceQueues, InstanceQueuesQuery, ProviderCapability,
    ProviderErrorKind, StoredEvent, StoredEventsQuery, WaitingStart, WaitingStartQuery,
};

impl Client {
    /// Why an instance waits: the primary cause, its evidence, and what to try next.
    ///
    /// - It reads the store and changes nothing. The history is read in parts; only what is open
    ///   is kept.
    /// - The parts of the answer are read one after the other. If the instance goes on meanwhile,
    ///   they are read again, a few times.
    /// - Of long lists, the answer has the first items and the total.
    /// - What the provider does not report is left out: see
    ///   [`TurnFacts::is_known`](super::TurnFacts::is_known).
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::client::why::Cause;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let why = client.why("order-7").await?;
    /// if let Cause::Event { name } = &why.cause {
    ///     println!("an operator has to send {name}");
    /// }
    /// // The cause, what to try, and all evidence.
    /// println!("{why}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InstanceNotFound`](ClientError::InstanceNotFound) for an id that the store does not know.
    pub async fn why(&self, instance: &str) -> Result<Why, ClientError> {
        // A start may become an instance between the two reads.
        for _ in 0..2 {
            if let Some(info) = self.stored_info(instance).await? {
                return self.why_stored(info).await;
            }
            if let Some(start) = self.queued_start(instance).await? {
                let mut gathered = self.gathered(instance).await?;
                gathered.queues = self.queues_of(instance).await?;
                gathered.start = Some(start);
                return Ok(gathered.answer());
            }
        }
        Err(ClientError::InstanceNotFound { instance_id: instance.to_owned() })
    }

    async fn why_stored(&self, mut info: InstanceInfo) -> Result<Why, ClientError> {
        let instance = info.instance_id.clone();
        let mut gathered = self.gathered(&instance).await?;
        for _ in 0..WHY_ROUNDS_MAX {
            self.read_on(&instance, info.current_execution_id, &mut gathered.open).await?;
            gathered.queues = self.queues_of(&instance).await?;
            let seen = gathered.open.last_event_id;
            self.read_on(&instance, info.current_execution_id, &mut gathered.open).await?;
            let Some(later) = self.stored_info(&instance).await? else {
                return Err(ClientError::InstanceNotFound { instance_id: instance });
            };
            let is_same = later.current_execution_id == info.current_execution_id;
            let is_stable = is_same && seen == gathered.open.last_event_id;
            info = later;
            if is_stable {
                break;
            }
            if !is_same {
                gathered.open = OpenWaits::new();
            }
        }
        if is_over(&info) {
            gathered.end = self.end_of(&instance).await;
        } else {
            gathered.suspension = self.admin()?.read_suspension(&instance).await?;
            gathered.child_states = self.child_states(&gathered.open).await?;
        }
        gathered.info = Some(info);
        Ok(gathered.answer())
    }

    async fn gathered(&self, instance: &str) -> Result<Gathered, ClientError> {
        let nodes = match self.reports_nodes() {
            true => Some(LiveNodes::new(self.admin()?.list_live_workers().await?)),
            false => None,
        };
        let now_ms = self.provider().clock_of(instance).now_ms();
        Ok(Gathered::new(instance, now_ms, nodes))
    }

    async fn stored_info(&self, instance: &str) -> Result<Option<InstanceInfo>, ClientError> {
        match self.admin()?.get_instance_info(instance).await {
            Ok(info) => Ok(Some(info)),
            Err(error) if error.kind == ProviderErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn queued_start(&self, instance: &str) -> Result<Option<WaitingStart>, ClientError> {
        if !self.reports_nodes() {
            return Ok(None);
        }
        let query = WaitingStartQuery::of(instance);
        Ok(self.admin()?.list_waiting_starts(query).await?.pop())
    }

    fn reports_nodes(&self) -> bool {
        self.provider().capabilities().has(ProviderCapability::Workers)
    }

    async fn queues_of(&self, instance: &str) -> Result<Option<InstanceQueues>, ClientError> {
        let query = InstanceQueuesQuery::new(instance, WHY_QUEUE_ROWS_MAX);
        Ok(self.admin()?.read_instance_queues(query).await?)
    }

    /// Reads the events behind those that are known.
    async fn read_on(
        &self,
        instance: &str,
        execution_id: u64,
        open: &mut OpenWaits,
    ) -> Result<(), ClientError> {
        let admin = self.admin()?;
        loop {
            let query = StoredEventsQuery::new(instance, execution_id).behind(open.last_event_id);
            let events: Vec<StoredEvent> = match admin.read_stored_events(query).await {
                Ok(events) => events,
                Err(error) if error.kind == ProviderErrorKind::Undecodable => {
                    open.note_unreadable(error.message);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            };
            if events.is_empty() {
                return Ok(());
            }
            events.iter().for_each(|event| open.note(event));
        }
    }

    /// The event that ended an instance; `None` if it cannot be read.
    async fn end_of(&self, instance: &str) -> Option<Event> {
        match self.provider().read_outcome(instance).await {
            Ok(InstanceOutcome::Ended(event)) => Some(*event),
            Ok(InstanceOutcome::Running | InstanceOutcome::NotFound) | Err(_) => None,
        }
    }

    /// How the first children stand.
    async fn child_states(&self, open: &OpenWaits) -> Result<Vec<ChildState>, ClientError> {
        let mut states = Vec::new();
        for child in open.children.values().take(WHY_LISTED_MAX) {
            let state = match self.stored_info(&child.instance).await? {
                Some(info) => match ExecutionStatus::parse(&info.status) {
                    Some(ExecutionStatus::Completed) => ChildState::Completed,
                    Some(ExecutionStatus::Failed) => ChildState::Failed,
                    Some(ExecutionStatus::Running | ExecutionStatus::ContinuedAsNew) | None => {
                        ChildState::Running
                    }
                },
                None => match self.queued_start(&child.instance).await? {
                    Some(_) => ChildState::NotStarted,
                    None => ChildState::Missing,
                },
            };
            states.push(state);
        }
        Ok(states)
    }
}

fn is_over(info: &InstanceInfo) -> bool {
    matches!(
        ExecutionStatus::parse(&info.status),
        Some(ExecutionStatus::Completed | ExecutionStatus::Failed)
    )
}
