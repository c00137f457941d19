//! The store and the journal that a test and its nodes share.

use std::path::Path;
use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide::{Client, Event, INITIAL_EXECUTION_ID, OrchestrationStatus};

use crate::journal::{Journal, TIMEOUT};
use crate::stores::Store;

pub(crate) struct Cluster {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) store: Store,
    pub(crate) journal: Journal,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) client: Client,
}

impl Cluster {
    pub(crate) async fn new(make_store: fn(&Path) -> Store) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = make_store(folder.path());
        let provider = store.open().await;
        let client = Client::new(Arc::clone(&provider));
        let journal = Journal::new(folder.path());
        Self { folder, store, journal, provider, client }
    }

    pub(crate) async fn start(&self, instance: &str, orchestration: &str, input: &str) {
        self.client.start_orchestration(instance, orchestration, input).await.unwrap();
    }

    pub(crate) async fn output(&self, instance: &str) -> String {
        match self.client.wait_for_orchestration(instance, TIMEOUT).await {
            Ok(OrchestrationStatus::Completed { output, .. }) => output,
            other => panic!("{instance}: {other:?}; {:?}", self.journal.read()),
        }
    }

    pub(crate) async fn history(&self, instance: &str) -> Vec<Event> {
        self.client.read_execution_history(instance, INITIAL_EXECUTION_ID).await.unwrap()
    }

    /// Waits until an event of this kind is stored.
    pub(crate) async fn until_kind(&self, instance: &str, kind: &str) -> Event {
        let found = async {
            loop {
                let history = self.history(instance).await;
                let found = history.into_iter().find(|event| event.kind.type_tag() == kind);
                if let Some(event) = found {
                    return event;
                }
                tokio::time::sleep(crate::journal::POLL_INTERVAL).await;
            }
        };
        tokio::time::timeout(TIMEOUT, found).await.unwrap_or_else(|_elapsed| {
            panic!("{instance} has no {kind}; {:?}", self.journal.read());
        })
    }

    /// The kinds of all events. Asserts that their ids have no gap.
    pub(crate) async fn kinds(&self, instance: &str) -> Vec<&'static str> {
        let history = self.history(instance).await;
        assert!(history.iter().map(|event| event.event_id).eq(1..=history.len() as u64));
        history.iter().map(|event| event.kind.type_tag()).collect()
    }
}
