//! Waiting for work without polling again and again.
//!
//! A fetch creates its watch before the first poll, so that it misses no change. After an empty
//! poll it waits for a change, for the next due time, or for the caller's limit. A slow safety poll
//! finds what a dead node did not announce.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::clock::millis;
use duroxide_core::providers::kit::{LongPoll, decode_activity};
use duroxide_core::providers::{
    ChangeScope, ChangeWatch, FetchedTurn, FetchedWork, OverdueFetch, ProviderError, TurnFetch,
    WorkFetch,
};
use tokio::time::Instant;

use crate::error::{During, JobError};
use crate::fast_path::starts::Fetching;
use crate::fetch::turns::{self, TurnBatch, TurnRequest};
use crate::fetch::undo;
use crate::limits;
use crate::queues::worker_queue::{self, RawWork, WorkRequest};
use crate::schema::number::lease_length;
use crate::store::Store;

/// Fetches turns, waiting up to the poll timeout for the first.
pub(crate) async fn fetch_turns(
    store: &Arc<Store>,
    operation: &'static str,
    fetch: TurnFetch<'_>,
) -> Result<Vec<FetchedTurn>, ProviderError> {
    if fetch.turns_max == 0 {
        return Ok(Vec::new());
    }
    let mut wait = Wait::new(store, ChangeScope::OrchestratorQueue, fetch.poll_timeout);
    let request = Arc::new(TurnRequest {
        turns_max: fetch.turns_max,
        lock_for: lease_length(fetch.lock_timeout),
        filter: Arc::new(fetch.filter.clone()),
        known: fetch.known.clone(),
        defers_histories: fetch.defers_histories,
    });
    let fetching = store.fast_path.fetching(&request);
    let mut polled_at = Instant::now();
    let mut batch = match store.empty_poll.take(&fetch) {
        Some(last) => {
            wait.resume(last.changes);
            polled_at = last.polled_at;
            TurnBatch { next_due: last.due, ..TurnBatch::default() }
        }
        None => poll(store, &request).await.during(operation)?,
    };
    loop {
        // Starts alone must not delay stored messages.
        if batch.turns.is_empty() && wait.must_poll(polled_at, batch.next_due) {
            batch.unfinished = true;
        }
        if !batch.unfinished || !batch.turns.is_empty() {
            let room = request.turns_max.saturating_sub(batch.turns.len());
            if let Some(fetching) = &fetching {
                batch.turns.extend(fetching.claim(room, &request));
            }
            if !batch.turns.is_empty() {
                // No await from here on: the caller receives what the fetch claimed.
                if room > 0 && !batch.unfinished {
                    store.empty_poll.keep(
                        &fetch,
                        wait.long_poll.into_changes(),
                        batch.next_due,
                        polled_at,
                    );
                }
                let leased_at = batch.leased_at;
                let turns = batch.turns.into_iter().map(turns::decode_turn);
                return Ok(turns.map(|turn| since(turn, leased_at)).collect());
            }
            tokio::select! {
                () = start_arrived(fetching.as_ref()) => continue,
                time_is_left = wait.until(batch.next_due) => if !time_is_left {
                    return Ok(Vec::new());
                }
            }
        }
        if wait.is_due(batch.next_due) {
            store.notifier.messages_became_due();
        }
        polled_at = Instant::now();
        batch = poll(store, &request).await.during(operation)?;
    }
}

/// Says when the lease of a turn began. The lease of a start that no store holds yet begins later.
fn since(turn: FetchedTurn, leased_at: Option<std::time::Instant>) -> FetchedTurn {
    match leased_at {
        Some(leased_at) => turn.with_leased_at(leased_at),
        None => turn,
    }
}

async fn start_arrived(fetching: Option<&Fetching<'_>>) {
    match fetching {
        Some(fetching) => fetching.start_arrived().await,
        None => std::future::pending().await,
    }
}

/// Leases turns that are fetchable now.
async fn poll(store: &Arc<Store>, request: &Arc<TurnRequest>) -> Result<TurnBatch, JobError> {
    let (request, shared) = (Arc::clone(request), Arc::clone(store));
    let fetch = async move { turns::fetch_turns(&shared, &request).await };
    undo::undone_if_dropped(store, fetch, undo_turns).await
}

async fn undo_turns(store: Arc<Store>, batch: TurnBatch) -> Result<(), JobError> {
    turns::undo(&store, batch).await
}

/// Fetches activities, waiting up to the poll timeout for the first.
pub(crate) async fn fetch_work(
    store: &Arc<Store>,
    operation: &'static str,
    fetch: WorkFetch<'_>,
) -> Result<Vec<FetchedWork>, ProviderError> {
    if fetch.slots.is_empty() {
        return Ok(Vec::new());
    }
    let mut wait = Wait::new(store, ChangeScope::WorkerQueue, fetch.poll_timeout);
    let _interest = store.notifier.outbox.interest(&fetch.filter.tags);
    let request = Arc::new(WorkRequest {
        slots: fetch.slots.to_vec(),
        lock_for: lease_length(fetch.lock_timeout),
        filter: fetch.filter.clone(),
    });
    loop {
        let leased_at = std::time::Instant::now();
        let (request, shared) = (Arc::clone(&request), Arc::clone(store));
        let poll = async move { worker_queue::fetch_work(&shared, &request).await };
        let batch = undo::undone_if_dropped(store, poll, |store, batch| async move {
            worker_queue::undo(&store, batch).await
        });
        let batch = batch.await.during(operation)?;
        if !batch.work.is_empty() {
            let work = batch.work.into_iter().filter_map(decode_work);
            return Ok(work.map(|work| work.with_leased_at(leased_at)).collect());
        }
        if batch.unfinished {
            continue;
        }
        // A commit announces no activity that it leases itself. If the holder of such a lease dies,
        // only a poll finds the activity: re-check after one lease.
        let lease = fetch.lock_timeout.max(limits::LEASE_POLL_INTERVAL_MIN);
        let poll_at = store.clock().now_ms().saturating_add(millis(lease));
        let due = batch.next_due.map_or(poll_at, |due| due.min(poll_at));
        if !wait.until(Some(due)).await {
            return Ok(Vec::new());
        }
    }
}

/// Fetches activities that no worker started in time, waiting up to the poll timeout for the first.
pub(crate) async fn fetch_overdue(
    store: &Arc<Store>,
    fetch: OverdueFetch,
) -> Result<Vec<FetchedWork>, ProviderError> {
    if fetch.work_max == 0 {
        return Ok(Vec::new());
    }
    let mut wait = Wait::new(store, ChangeScope::StartLimits, fetch.poll_timeout);
    let lock_for = lease_length(fetch.lock_timeout);
    let work_max = i64::try_from(fetch.work_max).unwrap_or(i64::MAX);
    loop {
        let shared = Arc::clone(store);
        let poll = async move { worker_queue::fetch_overdue(&shared, work_max, lock_for).await };
        let batch = undo::undone_if_dropped(store, poll, |store, batch| async move {
            worker_queue::undo(&store, batch).await
        });
        let batch = batch.await.during("fetch_overdue_work")?;
        if !batch.work.is_empty() {
            return Ok(batch.work.into_iter().filter_map(decode_work).collect());
        }
        if !wait.until(batch.next_due).await {
            return Ok(Vec::new());
        }
    }
}

/// The wait of a fetch, and the reasons to poll without one.
struct Wait<'a> {
    store: &'a Store,
    long_poll: LongPoll,
}

impl<'a> Wait<'a> {
    fn new(store: &'a Store, scope: ChangeScope<'_>, poll_timeout: Duration) -> Self {
        let long_poll = LongPoll::new(&store.notifier.hub, scope, poll_timeout);
        Self { store, long_poll: long_poll.recheck_after(store.settings.safety_poll) }
    }

    /// Continues with the watch of an earlier poll.
    fn resume(&mut self, changes: ChangeWatch) {
        *self.long_poll.changes() = changes;
    }

    /// Whether there is a reason to poll before any wait.
    fn must_poll(&mut self, polled_at: Instant, due: Option<u64>) -> bool {
        self.long_poll.changes().take_change()
            || self.is_due(due)
            || polled_at.elapsed() >= self.store.settings.safety_poll
    }

    fn is_due(&self, due: Option<u64>) -> bool {
        due.is_some_and(|due| self.store.is_reached(due))
    }

    /// Waits for a change or for `due`; false at the end of the poll timeout.
    async fn until(&mut self, due: Option<u64>) -> bool {
        self.long_poll.wait(&*self.store.clock(), due).await
    }
}

/// Every row names the activity that it holds, so none is left out.
fn decode_work(work: RawWork) -> Option<FetchedWork> {
    let item = decode_activity(work.token.row, work.text, Some(work.scheduled))?;
    Some(
        FetchedWork::new(item, work.token.text(), work.attempt_count)
            .with_slot(work.slot)
            .with_progress(work.progress)
            .with_overdue(work.overdue.map(Duration::from_millis)),
    )
}
