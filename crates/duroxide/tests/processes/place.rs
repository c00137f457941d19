//! A store that the test and its nodes share, with the diary and the gates beside it.

use std::sync::Arc;

use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::{Client, Event, INITIAL_EXECUTION_ID, OrchestrationStatus};

use crate::code::Gates;
use crate::diary::{Diary, PATIENCE};

/// Names another store than a SQLite file of its own; it must be empty.
const STORE: &str = "DUROXIDE_PROCESSES_STORE";

pub(crate) struct Place {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) url: String,
    pub(crate) diary: Diary,
    pub(crate) gates: Gates,
    pub(crate) client: Client,
}

/// Opens a store by its URL.
pub(crate) async fn open(url: &str) -> Arc<dyn Provider> {
    Arc::new(SqliteProvider::new(url, None).await.unwrap())
}

impl Place {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("store.db");
        let url =
            std::env::var(STORE).unwrap_or_else(|_unset| format!("sqlite:{}", file.display()));
        let client = Client::new(open(&url).await);
        let (diary, gates) = (Diary::new(folder.path()), Gates::new(folder.path()));
        Self { folder, url, diary, gates, client }
    }

    pub(crate) async fn begin(&self, instance: &str, orchestration: &str, input: &str) {
        self.client.start_orchestration(instance, orchestration, input).await.unwrap();
    }

    pub(crate) async fn output(&self, instance: &str) -> String {
        match self.client.wait_for_orchestration(instance, PATIENCE).await {
            Ok(OrchestrationStatus::Completed { output, .. }) => output,
            other => panic!("{instance}: {other:?}; {:?}", self.diary.read()),
        }
    }

    pub(crate) async fn history(&self, instance: &str) -> Vec<Event> {
        self.client.read_execution_history(instance, INITIAL_EXECUTION_ID).await.unwrap()
    }

    /// Waits until an event of this kind is stored.
    pub(crate) async fn until_kind(&self, instance: &str, kind: &str) -> Event {
        let look = async {
            loop {
                let history = self.history(instance).await;
                let found = history.into_iter().find(|event| event.kind.type_tag() == kind);
                if let Some(event) = found {
                    return event;
                }
                tokio::time::sleep(crate::diary::LOOK).await;
            }
        };
        tokio::time::timeout(PATIENCE, look).await.unwrap_or_else(|_elapsed| {
            panic!("{instance} has no {kind}; {:?}", self.diary.read());
        })
    }

    /// The kinds of all events, which must be numbered without a gap.
    pub(crate) async fn kinds(&self, instance: &str) -> Vec<&'static str> {
        let history = self.history(instance).await;
        assert!(history.iter().map(|event| event.event_id).eq(1..=history.len() as u64));
        history.iter().map(|event| event.kind.type_tag()).collect()
    }
}
