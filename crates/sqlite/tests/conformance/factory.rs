//! Databases for the suite, under a clock that only the test moves.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_conformance::{Ability, ProviderFactory};
use duroxide_core::providers::{ManualClock, Provider};
use duroxide_sqlite::SqliteProvider;
use tempfile::TempDir;

const BEGIN_MS: u64 = 1_700_000_000_000;
const BUSY_TIMEOUT: Duration = Duration::from_secs(20);

async fn open(url: &str, clock: &Arc<ManualClock>) -> Arc<dyn Provider> {
    let builder = SqliteProvider::builder(url).with_clock(Arc::<ManualClock>::clone(clock));
    Arc::new(builder.open().await.unwrap())
}

/// A file per store.
pub(crate) struct FileFactory {
    clock: Arc<ManualClock>,
    folder: TempDir,
    files: Mutex<Vec<PathBuf>>,
}

impl FileFactory {
    pub(crate) fn new() -> Self {
        Self {
            clock: Arc::new(ManualClock::new(BEGIN_MS)),
            folder: tempfile::tempdir().unwrap(),
            files: Mutex::default(),
        }
    }

    /// A second connection to the store made last, to inspect and to damage it.
    fn sql(&self) -> rusqlite::Connection {
        let files = self.files.lock().unwrap();
        let conn = rusqlite::Connection::open(files.last().unwrap()).unwrap();
        conn.busy_timeout(BUSY_TIMEOUT).unwrap();
        conn
    }
}

#[async_trait]
impl ProviderFactory for FileFactory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let path = {
            let mut files = self.files.lock().unwrap();
            let path = self.folder.path().join(format!("store-{}.db", files.len()));
            files.push(path.clone());
            path
        };
        open(&format!("sqlite:{}", path.display()), &self.clock).await
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        let changed = self
            .sql()
            .execute("UPDATE history SET event_data = '{torn' WHERE instance_id = ?1", [instance])
            .unwrap();
        assert!(changed > 0, "'{instance}' has no history to corrupt");
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        self.sql()
            .query_row(
                "SELECT coalesce(max(attempt_count), 0) FROM orchestrator_queue
                 WHERE instance_id = ?1",
                [instance],
                |row| row.get(0),
            )
            .unwrap()
    }

    async fn pass_time(&self, by: Duration) {
        self.clock.advance(by);
    }
}

/// A database in memory per store.
pub(crate) struct MemoryFactory {
    clock: Arc<ManualClock>,
}

impl MemoryFactory {
    pub(crate) fn new() -> Self {
        Self { clock: Arc::new(ManualClock::new(BEGIN_MS)) }
    }
}

#[async_trait]
impl ProviderFactory for MemoryFactory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        open(":memory:", &self.clock).await
    }

    async fn pass_time(&self, by: Duration) {
        self.clock.advance(by);
    }

    fn can(&self, ability: Ability) -> bool {
        !matches!(ability, Ability::Corruption | Ability::AttemptCounts)
    }
}
