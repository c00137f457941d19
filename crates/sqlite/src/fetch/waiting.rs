//! Waiting for work without asking again and again.
//!
//! The watch is made before the first look, so no change is missed. After a look that found
//! nothing, the wait ends at a change, when something becomes due, or at the caller's limit.

use std::time::Duration;

use duroxide_core::Event;
use duroxide_core::clock::millis;
use duroxide_core::providers::{
    ChangeScope, ChangeWatch, FetchedTurn, FetchedWork, OrchestrationItem, OverdueFetch,
    ProviderError, TurnFetch, WorkFetch, WorkItem,
};
use rusqlite::Connection;
use tokio::time::Instant;

use crate::fetch::turns::{self, RawTurn, TurnRequest};
use crate::limits;
use crate::provider::SqliteProvider;
use crate::queues::start_limits::{self, OverdueRequest};
use crate::queues::worker_queue::{self, RawWork, WorkRequest};
use crate::read::history;
use crate::schema::number::millis_to_db;
use crate::schema::number::to_db;
use crate::write::writer::Tx;

/// Fetches turns, waiting up to the poll timeout for the first.
pub(crate) async fn fetch_turns(
    provider: &SqliteProvider,
    operation: &'static str,
    fetch: TurnFetch<'_>,
) -> Result<Vec<FetchedTurn>, ProviderError> {
    if fetch.turns_max == 0 {
        return Ok(Vec::new());
    }
    let mut wait = Wait::new(provider, ChangeScope::OrchestratorQueue, fetch.poll_timeout);
    let filter = std::sync::Arc::new(fetch.filter.clone());
    loop {
        let request = TurnRequest {
            turns_max: fetch.turns_max,
            lock_for: millis_to_db(fetch.lock_timeout),
            filter: filter.clone(),
            known: fetch.known.clone(),
        };
        let work = move |tx: &mut Tx<'_>| turns::fetch_turns(tx, &request);
        let batch = provider.writer().lease(operation, work, turns::undo).await?;
        if !batch.turns.is_empty() {
            return Ok(batch.turns.into_iter().map(decode_turn).collect());
        }
        if batch.unfinished {
            continue;
        }
        if !wait.until(batch.next_due).await {
            return Ok(Vec::new());
        }
    }
}

/// Fetches activities, waiting up to the poll timeout for the first.
pub(crate) async fn fetch_work(
    provider: &SqliteProvider,
    operation: &'static str,
    fetch: WorkFetch<'_>,
) -> Result<Vec<FetchedWork>, ProviderError> {
    if fetch.slots.is_empty() {
        return Ok(Vec::new());
    }
    let mut wait = Wait::new(provider, ChangeScope::WorkerQueue, fetch.poll_timeout);
    loop {
        let request = WorkRequest {
            slots: fetch.slots.to_vec(),
            lock_for: millis_to_db(fetch.lock_timeout),
            tag_filter: fetch.filter.tags.clone(),
        };
        let work = move |tx: &mut Tx<'_>| worker_queue::fetch_work(tx, &request);
        let batch = provider.writer().lease_work(operation, work, worker_queue::undo).await?;
        let taken = !batch.work.is_empty();
        let work: Vec<_> = batch.work.into_iter().filter_map(decode_work).collect();
        if !work.is_empty() {
            return Ok(work);
        }
        // What could not be decoded stays leased; there may be more behind it.
        if taken {
            continue;
        }
        // A commit that leases its own activities tells nobody: there is nothing to fetch. Whoever
        // holds such a lease may lose it.
        let lease = fetch.lock_timeout.max(limits::LEASE_LOOK_INTERVAL_MIN);
        let look = provider.clock_ref().now_ms().saturating_add(millis(lease));
        let due = batch.next_due.map_or(look, |due| due.min(look));
        if !wait.until(Some(due)).await {
            return Ok(Vec::new());
        }
    }
}

/// Fetches activities that nobody started in time, waiting up to the poll timeout for the first.
pub(crate) async fn fetch_overdue(
    provider: &SqliteProvider,
    fetch: OverdueFetch,
) -> Result<Vec<FetchedWork>, ProviderError> {
    const OPERATION: &str = "fetch_overdue_work";
    if fetch.work_max == 0 {
        return Ok(Vec::new());
    }
    let mut wait = Wait::new(provider, ChangeScope::StartLimits, fetch.poll_timeout);
    loop {
        let now = provider.clock_ref().now_ms();
        let look = move |conn: &Connection| start_limits::next_due(conn, to_db(now));
        let due = provider.read_with(OPERATION, look).await?;
        if due.is_some_and(|due| due <= now) {
            let (work_max, lock_for) = (fetch.work_max, millis_to_db(fetch.lock_timeout));
            let request = OverdueRequest { work_max, lock_for };
            let lease = move |tx: &mut Tx<'_>| start_limits::fetch_overdue(tx, &request);
            let batch = provider.writer().lease_work(OPERATION, lease, worker_queue::undo).await?;
            let work: Vec<_> = batch.work.into_iter().filter_map(decode_work).collect();
            if !work.is_empty() {
                return Ok(work);
            }
            // Someone else was faster, or it cannot be decoded: it is leased now in any case.
        } else if !wait.until(due).await {
            return Ok(Vec::new());
        }
    }
}

struct Wait<'a> {
    provider: &'a SqliteProvider,
    changes: ChangeWatch,
    deadline: Instant,
}

impl<'a> Wait<'a> {
    fn new(provider: &'a SqliteProvider, scope: ChangeScope<'_>, poll_timeout: Duration) -> Self {
        let deadline = Instant::now() + poll_timeout.min(limits::POLL_TIMEOUT_MAX);
        Self { provider, changes: provider.hub().watch(scope), deadline }
    }

    /// Waits for a change or for `due`; false if the caller's time is up.
    async fn until(&mut self, due: Option<u64>) -> bool {
        if Instant::now() >= self.deadline {
            return false;
        }
        let _eager = self.provider.writer().wait_guard();
        let clock = self.provider.clock_ref();
        let due = async {
            match due {
                Some(due) => clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.changes.changed() => true,
            () = due => true,
            () = tokio::time::sleep_until(self.deadline) => false,
        }
    }
}

fn decode_turn(turn: RawTurn) -> FetchedTurn {
    let (history, history_error) = match (turn.damage, history::decode(&turn.history)) {
        (None, Ok(events)) => (events, None),
        (None, Err(error)) => (Vec::<Event>::new(), Some(error.to_string())),
        (Some(damage), _) => (Vec::new(), Some(damage)),
    };
    let instance = turn.instance;
    let messages = turn.messages.iter().filter_map(|(id, text)| {
        serde_json::from_str::<WorkItem>(text)
            .inspect_err(|error| {
                tracing::error!(
                    row = id,
                    %instance,
                    %error,
                    "a message of the orchestrator queue cannot be read and is left out"
                );
            })
            .ok()
    });
    let messages = messages.collect();
    let history_after = if history_error.is_some() { 0 } else { turn.history_after };
    FetchedTurn::new(
        OrchestrationItem {
            orchestration_name: turn.identity.name,
            execution_id: turn.identity.execution_id,
            version: turn.identity.version,
            history,
            messages,
            history_error,
            kv_snapshot: turn.kv_snapshot,
            instance,
        },
        turn.lock_token,
        turn.attempt_count,
    )
    .with_history_after(history_after)
}

/// An activity whose text cannot be read is handed out under a name that nobody has: it is tried
/// as often as any other and then fails, so that its orchestration hears of it.
fn decode_work(work: RawWork) -> Option<FetchedWork> {
    let item = match serde_json::from_str(&work.text) {
        Ok(item) => item,
        Err(error) => {
            let row = work.id;
            tracing::error!(row, %error, "an activity of the worker queue cannot be read");
            let asked_by = work.asked_by?;
            WorkItem::ActivityExecute {
                instance: asked_by.instance,
                execution_id: asked_by.execution_id,
                id: asked_by.activity_id,
                name: format!("unreadable activity (row {}: {error})", work.id),
                input: work.text,
                session_id: None,
                tag: None,
            }
        }
    };
    Some(
        FetchedWork::new(item, work.lock_token, work.attempt_count)
            .with_slot(work.slot)
            .with_progress(work.progress)
            .with_overdue(work.overdue.map(Duration::from_millis)),
    )
}
