//! The SQLite provider without a runtime.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::providers::{
    ExecutionMetadata, FetchedTurn, ManualClock, Provider, TagFilter, TurnFetch,
};
use duroxide_sqlite::{SqliteProvider, Synchronous};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

use super::model::{NOW_MS, VERSION, activity as work, completed, scheduled, start, started};

/// Operations that every run prepares. So few that SQLite runs no checkpoint, whose timing depends
/// on earlier writes.
pub(super) const PREPARED: u64 = 150;

const LEASE: Duration = Duration::from_secs(30);
const TURNS_PER_FETCH: usize = 50;

/// Commits first turns: two events and one activity each.
pub(super) fn commit(count: u64, ready: &mut dyn FnMut()) -> Result<(), String> {
    let fixture = Fixture::new()?;
    let turns = fixture.leased_turns()?;
    ready();
    for turn in turns.iter().take(as_usize(count)) {
        fixture.commit(turn)?;
    }
    Ok(())
}

/// Fetches turns, each with a history of two events.
pub(super) fn fetch(count: u64, ready: &mut dyn FnMut()) -> Result<(), String> {
    let fixture = Fixture::new()?;
    for turn in &fixture.leased_turns()? {
        fixture.commit(turn)?;
        let message = completed(&turn.item.instance, 2);
        fixture.run(|store| async move { store.enqueue_for_orchestrator(message, None).await })?;
    }
    ready();
    for _ in 0..count {
        if fixture.fetch_turns(1)?.len() != 1 {
            return Err("no turn is ready".to_owned());
        }
    }
    Ok(())
}

/// Fetches activities and stores their results.
pub(super) fn activity(count: u64, ready: &mut dyn FnMut()) -> Result<(), String> {
    let fixture = Fixture::new()?;
    for turn in &fixture.leased_turns()? {
        fixture.commit(turn)?;
    }
    ready();
    for _ in 0..count {
        let fetched = fixture.run(|store| async move {
            store.fetch_work_item(LEASE, Duration::ZERO, None, &TagFilter::DefaultOnly).await
        })?;
        let (item, token, _) = fetched.ok_or("no activity is ready")?;
        let result = completed(item.target_instance(), 2);
        fixture.run(|store| async move { store.ack_work_item(&token, Some(result)).await })?;
    }
    Ok(())
}

/// A store in a file with a fixed clock, called from one thread.
struct Fixture {
    runtime: Runtime,
    store: Arc<SqliteProvider>,
    _folder: TempDir,
}

impl Fixture {
    fn new() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let runtime = Builder::new_current_thread().enable_time().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        // The durability level changes the time that the disk takes, not the instructions of ours.
        let url = format!("sqlite:{}", folder.path().join("gate.db").display());
        let builder = SqliteProvider::builder(&url)
            .with_clock(Arc::new(ManualClock::new(NOW_MS)))
            .with_synchronous(Synchronous::Normal);
        let store = runtime.block_on(builder.open()).map_err(|error| error.to_string())?;
        Ok(Self { runtime, store: Arc::new(store), _folder: folder })
    }

    fn run<T, E: std::fmt::Display, F: Future<Output = Result<T, E>>>(
        &self,
        call: impl FnOnce(Arc<SqliteProvider>) -> F,
    ) -> Result<T, String> {
        let called = self.runtime.block_on(call(Arc::clone(&self.store)));
        called.map_err(|error| error.to_string())
    }

    fn fetch_turns(&self, turns_max: usize) -> Result<Vec<FetchedTurn>, String> {
        self.run(|store| async move {
            let fetch = TurnFetch::new(turns_max, LEASE);
            store.fetch_orchestration_items(fetch).await
        })
    }

    fn leased_turns(&self) -> Result<Vec<FetchedTurn>, String> {
        for number in 0..PREPARED {
            let message = start(&format!("order-2024-{number:06}"));
            self.run(|store| async move { store.enqueue_for_orchestrator(message, None).await })?;
        }
        let mut turns = Vec::new();
        while turns.len() < as_usize(PREPARED) {
            let more = self.fetch_turns(TURNS_PER_FETCH)?;
            if more.is_empty() {
                return Err("a turn is missing".to_owned());
            }
            turns.extend(more);
        }
        Ok(turns)
    }

    fn commit(&self, turn: &FetchedTurn) -> Result<(), String> {
        let instance = &turn.item.instance;
        let events = vec![started(instance), scheduled(instance, 2)];
        let activities = vec![work(instance, 2)];
        let metadata = ExecutionMetadata {
            orchestration_name: Some("Order".to_owned()),
            orchestration_version: Some(VERSION.to_owned()),
            ..ExecutionMetadata::default()
        };
        let token = &turn.lock_token;
        self.run(|store| async move {
            store
                .ack_orchestration_item(
                    token,
                    1,
                    events,
                    activities,
                    Vec::new(),
                    metadata,
                    Vec::new(),
                )
                .await
        })
    }
}

fn as_usize(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}
