//! Fetching with a long poll: poll, wait for a change, poll again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use duroxide_core::clock::millis;
use duroxide_core::providers::kit::{LongPoll, decode_activity, decode_history, decode_messages};
use duroxide_core::providers::{
    ChangeScope, FetchedTurn, FetchedWork, OrchestrationItem, OverdueFetch, ProviderError,
    TurnFetch, TurnState, WorkFetch,
};
use rusqlite::Connection;

use crate::fetch::turns::{self, RawTurn, StoredHistory, TurnBatch, TurnRequest};
use crate::limits;
use crate::provider::SqliteProvider;
use crate::queues::start_limits::{self, OverdueRequest};
use crate::queues::worker_queue::{self, RawWork, WorkRequest};
use crate::schema::number::{millis_to_db, to_db};
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
    let filter = Arc::new(fetch.filter.clone());
    loop {
        let request = TurnRequest {
            turns_max: fetch.turns_max,
            lock_for: millis_to_db(fetch.lock_timeout),
            filter: Arc::clone(&filter),
            known: fetch.known.clone(),
            holders: provider.holders().clone(),
            defers_histories: fetch.defers_histories,
        };
        let work = move |tx: &mut Tx<'_>| turns::fetch_turns(tx, &request);
        let lease = provider.writer().lease(operation, work, turns::undo).await?;
        let mut states = match lease.value() {
            Some(batch) if !fetch.defers_histories => read_long(provider, operation, batch).await?,
            Some(_) | None => HashMap::new(),
        };
        let batch = lease.take()?;
        if !batch.turns.is_empty() {
            let leased_at = batch.leased_at;
            let decode = |turn: RawTurn| {
                let state = states.remove(&turn.instance);
                decode_turn(turn, state).with_leased_at(leased_at)
            };
            return Ok(batch.turns.into_iter().map(decode).collect());
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
    let filter = Arc::new(fetch.filter.clone());
    loop {
        let request = WorkRequest {
            slots: fetch.slots.to_vec(),
            lock_for: millis_to_db(fetch.lock_timeout),
            filter: Arc::clone(&filter),
            holders: provider.holders().clone(),
        };
        let work = move |tx: &mut Tx<'_>| worker_queue::fetch_work(tx, &request);
        let batch = provider.writer().lease_work(operation, work, worker_queue::undo).await?;
        let has_leased = !batch.work.is_empty();
        let leased_at = batch.leased_at;
        let work = batch.work.into_iter().filter_map(decode_work);
        let work: Vec<_> = work.map(|work| work.with_leased_at(leased_at)).collect();
        if !work.is_empty() {
            return Ok(work);
        }
        // What cannot be decoded stays leased; others may be fetchable behind it.
        if has_leased || batch.unfinished {
            continue;
        }
        // A commit that leases its own activities notifies no worker: it leaves nothing to fetch.
        // Such a lease may expire, so poll again after one lease.
        let lease = fetch.lock_timeout.max(limits::LEASE_RECHECK_MIN);
        let recheck = provider.clock_ref().now_ms().saturating_add(millis(lease));
        let due = batch.next_due.map_or(recheck, |due| due.min(recheck));
        if !wait.until(Some(due)).await {
            return Ok(Vec::new());
        }
    }
}

/// Fetches activities that no worker started in time, waiting up to the poll timeout for the first.
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
        let next_due = move |conn: &Connection| start_limits::next_due(conn, to_db(now));
        let due = provider.read_with(OPERATION, next_due).await?;
        if due.is_some_and(|due| due <= now) {
            let (work_max, lock_for) = (fetch.work_max, millis_to_db(fetch.lock_timeout));
            let request = OverdueRequest { work_max, lock_for };
            let lease = move |tx: &mut Tx<'_>| start_limits::fetch_overdue(tx, &request);
            let batch = provider.writer().lease_work(OPERATION, lease, worker_queue::undo).await?;
            let work: Vec<_> = batch.work.into_iter().filter_map(decode_work).collect();
            if !work.is_empty() {
                return Ok(work);
            }
            // Another node was faster, or it cannot be decoded: it is leased now in either case.
        } else if !wait.until(due).await {
            return Ok(Vec::new());
        }
    }
}

/// The wait of a fetch, during which the writer polls eagerly for commits of other processes.
struct Wait<'a> {
    provider: &'a SqliteProvider,
    long_poll: LongPoll,
}

impl<'a> Wait<'a> {
    fn new(provider: &'a SqliteProvider, scope: ChangeScope<'_>, poll_timeout: Duration) -> Self {
        Self { provider, long_poll: LongPoll::new(provider.hub(), scope, poll_timeout) }
    }

    /// Waits for a change or for `due`; false at the end of the poll timeout.
    async fn until(&mut self, due: Option<u64>) -> bool {
        // The guard costs a command to the writer, so a caller that does not wait makes none.
        if self.long_poll.is_over() {
            return false;
        }
        let _eager = self.provider.writer().wait_guard();
        self.long_poll.wait(self.provider.clock_ref(), due).await
    }
}

/// Reads the long histories of leased turns, by instance.
async fn read_long(
    provider: &SqliteProvider,
    operation: &'static str,
    batch: &TurnBatch,
) -> Result<HashMap<String, TurnState>, ProviderError> {
    let mut states = HashMap::new();
    for turn in &batch.turns {
        if let StoredHistory::Long(_) = &turn.stored.history {
            let execution_id = turn.identity.execution_id;
            let state = provider.read_state(operation, &turn.instance, execution_id).await?;
            states.insert(turn.instance.clone(), state);
        }
    }
    Ok(states)
}

/// Decodes a turn; `state` is a long history that was read for it.
fn decode_turn(turn: RawTurn, state: Option<TurnState>) -> FetchedTurn {
    let mut fetched = decode_leased(turn);
    if let Some(state) = state {
        fetched.item.history = state.history;
        fetched.item.history_error = state.history_error;
        fetched.item.kv_snapshot = state.kv_snapshot.unwrap_or_default();
        fetched.deferred = None;
    }
    fetched
}

fn decode_leased(turn: RawTurn) -> FetchedTurn {
    let (texts, deferred) = match turn.stored.history {
        StoredHistory::Here(part) => (part.texts, None),
        StoredHistory::Long(history) => (Vec::new(), Some(history)),
    };
    let (history, history_error) = match (turn.damage, decode_history(&texts)) {
        (None, Ok(events)) => (events, None),
        (None, Err(error)) => (Vec::new(), Some(error.to_string())),
        (Some(damage), _) => (Vec::new(), Some(damage)),
    };
    // Without a readable history nothing that the caller holds can be relied on.
    let history_after = if history_error.is_some() { 0 } else { turn.stored.history_after };
    FetchedTurn::new(
        OrchestrationItem {
            orchestration_name: turn.identity.name,
            execution_id: turn.identity.execution_id,
            version: turn.identity.version,
            history,
            messages: decode_messages(&turn.instance, &turn.messages.texts),
            history_error,
            kv_snapshot: turn.stored.kv_snapshot,
            instance: turn.instance,
        },
        turn.lock_token,
        turn.messages.attempt_count,
    )
    .with_history_after(history_after)
    .with_deferred(deferred)
}

fn decode_work(work: RawWork) -> Option<FetchedWork> {
    let item = decode_activity(work.id, work.text, work.scheduled_by)?;
    Some(
        FetchedWork::new(item, work.lock_token, work.attempt_count)
            .with_slot(work.slot)
            .with_progress(work.progress)
            .with_overdue(work.overdue.map(Duration::from_millis)),
    )
}
