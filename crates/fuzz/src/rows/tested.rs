//! A node on a store whose rows are changed.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use duroxide::client::StartRequest;
use duroxide::runtime::{Runtime, UnregisteredBackoffConfig};
use duroxide::{Client, OrchestrationStatus, RuntimeOptions};

use super::cell::Cell;
use super::store::{RowStore, TABLES};
use super::{code, reads};
use crate::Rng;

/// How long healthy work may take. Without damage it takes milliseconds.
const HEALTHY_MAX: Duration = Duration::from_secs(30);

/// Most changes of a round.
const CHANGES_MAX: usize = 5;

/// What a round has done.
#[derive(Debug, Clone, Copy, Default)]
pub struct Round {
    /// Values that were changed.
    pub changed: u64,
    /// Changes that the database refused.
    pub refused: u64,
}

/// A node and a client on a store.
pub struct Tested<S> {
    store: S,
    client: Client,
    node: Arc<Runtime>,
}

impl<S: RowStore> Tested<S> {
    /// Starts a node.
    ///
    /// # Errors
    /// When the store does not work before anything was changed.
    pub async fn start(store: S) -> Result<Self, String> {
        count_panics();
        let mut options = RuntimeOptions {
            max_attempts: 2,
            orchestrator_lock_timeout: Duration::from_secs(1),
            worker_lock_timeout: Duration::from_secs(1),
            unregistered_backoff: UnregisteredBackoffConfig {
                base_delay: Duration::from_millis(20),
                max_delay: Duration::from_millis(40),
            },
            ..RuntimeOptions::default()
        };
        // An execution in memory does not read its rows again.
        options.warm_cache.enabled = false;
        let started = Runtime::start_with_options(
            store.provider(),
            code::activities(),
            code::orchestrations(),
            options,
        );
        let node = started.await;
        let client = Client::new(store.provider());
        let tested = Self { store, client, node };
        tested.assert_healthy("before").await?;
        Ok(tested)
    }

    /// Changes rows of a new victim and runs healthy work beside it.
    ///
    /// # Errors
    /// When anything but the victim is disturbed.
    pub async fn round(&self, seed: u64) -> Result<Round, String> {
        let panics = PANICS.load(Ordering::SeqCst);
        let mut rng = Rng::new(seed);
        let victim = format!("victim-{seed}");
        let ids = [victim.clone(), format!("{victim}-child")];
        self.start_victim(&victim).await?;
        let (round, changes) = self.damage(&mut rng, &ids).await?;
        let report = |reason: String| format!("{reason}\nchanges:\n{}", changes.join("\n"));
        for id in &ids {
            // A damaged instance may be unknown.
            drop(self.client.raise_event(id, "go", "on").await);
        }
        self.assert_healthy(&format!("beside-{seed}")).await.map_err(report)?;
        for id in &ids {
            reads::read_one(&self.client, id).await.map_err(report)?;
        }
        reads::read_all(&self.client).await.map_err(report)?;
        if rng.one_in(2) {
            reads::remove(&self.client, &victim).await.map_err(report)?;
        }
        self.assert_healthy(&format!("after-{seed}")).await.map_err(report)?;
        if PANICS.load(Ordering::SeqCst) != panics {
            let text = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone();
            return Err(report(format!("a thread panicked: {text}")));
        }
        Ok(round)
    }

    /// Stops the node.
    ///
    /// # Errors
    /// When it does not stop.
    pub async fn stop(self) -> Result<(), String> {
        within("stopping the node", HEALTHY_MAX, self.node.shutdown(None)).await
    }

    async fn start_victim(&self, id: &str) -> Result<(), String> {
        let start = StartRequest::new(id, "Victim").with_input(id).with_attribute("size", 7);
        self.client.start_with(start).await.map_err(|error| error.to_string())?;
        let ready = self.client.wait_for_kv_value(id, code::READY, HEALTHY_MAX).await;
        ready.map(drop).map_err(|error| format!("a victim does not start: {error}"))
    }

    /// Changes some values of rows of the instances; returns the statements.
    async fn damage(&self, rng: &mut Rng, ids: &[String]) -> Result<(Round, Vec<String>), String> {
        let (mut round, mut changes) = (Round::default(), Vec::new());
        for _ in 0..=rng.below(CHANGES_MAX) {
            let Some((sql, shown)) = self.any_change(rng, ids).await? else { continue };
            match self.store.run(&sql).await {
                Ok(_) => {
                    round.changed += 1;
                    changes.push(shown);
                }
                Err(_refused_by_a_constraint) => round.refused += 1,
            }
        }
        Ok((round, changes))
    }

    /// A change of a table that has rows of the instances.
    async fn any_change(
        &self,
        rng: &mut Rng,
        ids: &[String],
    ) -> Result<Option<(String, String)>, String> {
        for _ in 0..TABLES.len() {
            if let Some(change) = self.change(rng, ids).await? {
                return Ok(Some(change));
            }
        }
        Ok(None)
    }

    /// A statement that changes one value, and a short form of it.
    async fn change(
        &self,
        rng: &mut Rng,
        ids: &[String],
    ) -> Result<Option<(String, String)>, String> {
        let (table, id) = (*rng.pick(&TABLES), rng.pick(ids));
        let columns = self.store.run(&self.store.columns_sql(table)).await?;
        let rows = self.store.run(&self.store.conditions_sql(table, id)).await?;
        if columns.is_empty() {
            return Err(format!("there is no table {table}"));
        }
        if rows.is_empty() {
            return Ok(None);
        }
        let column = rng.pick(&columns).first().cloned().flatten().unwrap_or_default();
        let row = rng.pick(&rows).first().cloned().flatten().unwrap_or_default();
        let named = self.store.table(table);
        let old = self.store.run(&format!("SELECT {column} FROM {named} WHERE {row}")).await?;
        let old = old.first().and_then(|row| row.first().cloned().flatten());
        let cell = Cell::instead_of(rng, old.as_deref());
        let set = format!("UPDATE {named} SET {column} = ");
        let sql = format!("{set}{} WHERE {row}", self.store.literal(&cell));
        let value: String = format!("{cell:?}").chars().take(300).collect();
        Ok(Some((sql, format!("{set}{value} WHERE {row}"))))
    }

    async fn assert_healthy(&self, id: &str) -> Result<(), String> {
        let started = self.client.start_orchestration(id, "Healthy", "fine").await;
        started.map_err(|error| format!("healthy work cannot start: {error}"))?;
        let status = self.client.wait_for_orchestration(id, HEALTHY_MAX).await;
        let status = status.map_err(|error| format!("healthy work does not end: {error}"))?;
        let completed = matches!(
            &status, OrchestrationStatus::Completed { output, .. } if output == "fine leaf");
        if !completed {
            return Err(format!("healthy work ends with {status:?}"));
        }
        let history = self.client.read_execution_history(id, 1).await;
        let events = history.map_err(|error| format!("healthy history: {error}"))?.len();
        let value = self.client.get_kv_value(id, "key").await;
        match value.map_err(|error| format!("healthy keys: {error}"))? {
            Some(value) if value == "fine" && events > 5 => Ok(()),
            other => Err(format!("healthy state is {other:?} and {events} events")),
        }
    }
}

/// Waits for a call that must end.
pub(super) async fn within<T>(
    what: &str,
    limit: Duration,
    call: impl Future<Output = T>,
) -> Result<T, String> {
    let ended = tokio::time::timeout(limit, call).await;
    ended.map_err(|_elapsed| format!("{what} takes more than {limit:?}"))
}

static PANICS: AtomicU64 = AtomicU64::new(0);
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Counts panics of all threads: the runtime catches those of its parts.
fn count_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = panic.to_string();
            before(panic);
        }));
    });
}
