//! Two providers under one clock.

use std::sync::Arc;
use std::time::Duration;

use duroxide_conformance::reference::MemoryProvider;
use duroxide_core::providers::{Clock, ManualClock, Provider};
use duroxide_sqlite::{SqliteProvider, Synchronous};
use tempfile::TempDir;

use crate::apply::Side;
use crate::op::{INSTANCES, Op};
use crate::state;

const START_MS: u64 = 1_700_000_000_000;
/// As long as the text that the reference writes, because the test also compares sizes.
const SPOIL_SQL: &str = "UPDATE history SET event_data = 'not an event' WHERE instance_id = ?1";

/// Where SQLite keeps its data. Only a file can be corrupted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Memory,
    File,
}

pub(crate) struct World {
    clock: Arc<ManualClock>,
    memory: Arc<MemoryProvider>,
    folder: TempDir,
    reference: Side,
    sqlite: Side,
}

impl World {
    pub(crate) async fn open(place: Place) -> Self {
        let clock = Arc::new(ManualClock::new(START_MS));
        let shared: Arc<dyn Clock> = Arc::<ManualClock>::clone(&clock);
        let folder = tempfile::tempdir().unwrap();
        let url = match place {
            Place::Memory => ":memory:".to_owned(),
            Place::File => format!("sqlite:{}", file(&folder).display()),
        };
        let builder = SqliteProvider::builder(&url).with_clock(Arc::<ManualClock>::clone(&clock));
        let sqlite = builder.with_synchronous(Synchronous::Normal).open().await.unwrap();
        let memory = Arc::new(MemoryProvider::new(shared));
        let reference: Arc<dyn Provider> = Arc::<MemoryProvider>::clone(&memory);
        Self {
            clock,
            memory,
            folder,
            reference: Side::new(reference),
            sqlite: Side::new(Arc::new(sqlite)),
        }
    }

    /// Applies one step to both providers and returns the first difference.
    pub(crate) async fn step(&mut self, step: Op) -> Option<String> {
        match step {
            Op::Advance(ms) => self.clock.advance(Duration::from_millis(ms)),
            Op::Corrupt(instance) => self.corrupt(INSTANCES[instance]),
            step => {
                let now = self.clock.now_ms();
                let results =
                    [self.reference.apply(&step, now).await, self.sqlite.apply(&step, now).await];
                if results[0] != results[1] {
                    return Some(format!("reference: {}\nsqlite:    {}", results[0], results[1]));
                }
            }
        }
        let reference = state::visible(&*self.reference.provider).await;
        let sqlite = state::visible(&*self.sqlite.provider).await;
        let differing = reference.iter().zip(&sqlite).find(|(one, other)| one != other);
        differing.map(|(one, other)| format!("then, reference: {one}\nthen, sqlite:    {other}"))
    }

    fn corrupt(&self, instance: &str) {
        self.memory.corrupt_history(instance);
        let conn = rusqlite::Connection::open(file(&self.folder)).unwrap();
        conn.busy_timeout(Duration::from_secs(20)).unwrap();
        conn.execute(SPOIL_SQL, [instance]).unwrap();
    }
}

fn file(folder: &TempDir) -> std::path::PathBuf {
    folder.path().join("store.db")
}
