//! A fresh store with the calls that validations share.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::Event;
use duroxide_core::providers::{
    OrchestrationItem, Provider, ProviderAdmin, ProviderError, SessionFetchConfig, TagFilter,
    TurnCommit, WorkItem,
};

use super::{Must, create_instance};
use crate::ProviderFactory;
use crate::limits::CLOCK_SLACK;

/// A fetched turn.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    pub(crate) item: OrchestrationItem,
    pub(crate) token: String,
    pub(crate) attempt: u32,
}

/// A fetched activity.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) item: WorkItem,
    pub(crate) token: String,
    pub(crate) attempt: u32,
}

/// A fresh store and the factory that created it.
pub(crate) struct Store<'f, F: ProviderFactory + ?Sized> {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) factory: &'f F,
}

impl<'f, F: ProviderFactory + ?Sized> Store<'f, F> {
    pub(crate) async fn open(factory: &'f F) -> Self {
        Self { provider: factory.create_provider().await, factory }
    }

    /// Length of every lease through this store.
    pub(crate) fn lease(&self) -> Duration {
        self.factory.lock_timeout()
    }

    pub(crate) async fn pass(&self, by: Duration) {
        self.factory.pass_time(by).await;
    }

    /// Lets every current lease expire.
    pub(crate) async fn expire(&self) {
        self.pass(self.lease() + CLOCK_SLACK).await;
    }

    /// The time of the provider's clock, in milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> u64 {
        self.provider.clock().now_ms()
    }

    #[track_caller]
    pub(crate) fn admin(&self) -> &dyn ProviderAdmin {
        self.provider.as_management_capability().expect("the provider must have a management side")
    }

    pub(crate) async fn create(&self, instance: &str) {
        create_instance(&*self.provider, instance).await;
    }

    pub(crate) async fn send(&self, item: WorkItem) {
        self.provider.enqueue_for_orchestrator(item, None).await.must("enqueueing a message");
    }

    pub(crate) async fn send_after(&self, item: WorkItem, delay: Duration) {
        let sent = self.provider.enqueue_for_orchestrator(item, Some(delay)).await;
        sent.must("enqueueing a delayed message");
    }

    pub(crate) async fn send_work(&self, item: WorkItem) {
        self.provider.enqueue_for_worker(item).await.must("enqueueing an activity");
    }

    /// The next turn, if there is one now.
    pub(crate) async fn try_turn(&self) -> Option<Turn> {
        let fetched =
            self.provider.fetch_orchestration_item(self.lease(), Duration::ZERO, None).await;
        let (item, token, attempt) = fetched.must("fetching a turn")?;
        Some(Turn { item, token, attempt })
    }

    /// The next turn, which must be of `instance`.
    pub(crate) async fn turn_of(&self, instance: &str) -> Turn {
        let turn = self.try_turn().await;
        let turn = turn.unwrap_or_else(|| panic!("a turn of '{instance}' must be fetchable"));
        assert_eq!(turn.item.instance, instance, "the turn is of another instance");
        turn
    }

    /// No turn must be fetchable now; `why` names the promise.
    pub(crate) async fn no_turn(&self, why: &str) {
        if let Some(turn) = self.try_turn().await {
            panic!("{why}, but a turn was fetched: {turn:?}");
        }
    }

    /// The next activity without session and tag, if there is one now.
    pub(crate) async fn try_work(&self) -> Option<Work> {
        self.try_work_as(None, &TagFilter::DefaultOnly).await
    }

    /// The next matching activity, if there is one now.
    pub(crate) async fn try_work_as(
        &self,
        session: Option<&SessionFetchConfig>,
        tags: &TagFilter,
    ) -> Option<Work> {
        let lease = self.lease();
        let fetched = self.provider.fetch_work_item(lease, Duration::ZERO, session, tags).await;
        let (item, token, attempt) = fetched.must("fetching an activity")?;
        Some(Work { item, token, attempt })
    }

    /// The next activity, which there must be.
    pub(crate) async fn work(&self) -> Work {
        self.try_work().await.expect("an activity must be fetchable")
    }

    /// No activity must be fetchable now; `why` names the promise.
    pub(crate) async fn no_work(&self, why: &str) {
        if let Some(work) = self.try_work().await {
            panic!("{why}, but an activity was fetched: {work:?}");
        }
    }

    /// Commits a turn by the call that every provider has.
    pub(crate) async fn ack(&self, commit: TurnCommit) -> Result<(), ProviderError> {
        let messages = commit.messages().cloned().collect();
        self.provider
            .ack_orchestration_item(
                &commit.lock_token,
                commit.execution_id,
                commit.history_delta,
                commit.activities.into_iter().map(|activity| activity.item).collect(),
                messages,
                commit.metadata,
                commit.cancelled_activities,
            )
            .await
    }

    /// History of the latest execution.
    pub(crate) async fn history(&self, instance: &str) -> Vec<Event> {
        self.provider.read(instance).await.must("reading a history")
    }
}
