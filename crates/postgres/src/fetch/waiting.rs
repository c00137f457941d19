//! Waiting for work without asking again and again.
//!
//! The watch is made before the first look, so no change is missed. After a look that found
//! nothing, the wait ends at a change, when something becomes due, or at the caller's limit. A slow
//! look now and then is the safety net for what a dead node did not tell.

use std::sync::Arc;
use std::time::Duration;

use duroxide_core::clock::millis;
use duroxide_core::providers::{
    ChangeScope, ChangeWatch, FetchedTurn, FetchedWork, OverdueFetch, ProviderError, TurnFetch,
    WorkFetch, WorkItem,
};
use tokio::time::Instant;

use crate::error::{During, JobError};
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
    });
    let fetching = fetch.filter.allows_new_instances().then(|| store.starts.fetching());
    let mut looked = Instant::now();
    let mut batch = match store.empty_poll.take(&fetch) {
        Some(quiet) => {
            wait.changes = quiet.changes;
            looked = quiet.looked;
            TurnBatch { next_due: quiet.due, ..TurnBatch::default() }
        }
        None => look(store, &request).await.during(operation)?,
    };
    loop {
        // Starts alone are no reason to leave what is stored waiting.
        if batch.turns.is_empty() && wait.is_told(looked, batch.next_due) {
            batch.unfinished = true;
        }
        if !batch.unfinished || !batch.turns.is_empty() {
            let room = request.turns_max.saturating_sub(batch.turns.len());
            if fetching.is_some() {
                batch.turns.extend(store.starts.take(room, &request));
            }
            if !batch.turns.is_empty() {
                // Nobody waits between here and the end: what is taken is handed out.
                if room > 0 && !batch.unfinished {
                    store.empty_poll.keep(&fetch, wait.changes, batch.next_due, looked);
                }
                return Ok(batch.turns.into_iter().map(turns::decode_turn).collect());
            }
            tokio::select! {
                () = store.starts.arrived(), if fetching.is_some() => continue,
                time_is_left = wait.until(batch.next_due) => if !time_is_left {
                    return Ok(Vec::new());
                }
            }
        }
        if wait.is_due(batch.next_due) {
            store.time_has_come();
        }
        looked = Instant::now();
        batch = look(store, &request).await.during(operation)?;
    }
}

/// Fetches turns that are there.
async fn look(store: &Arc<Store>, request: &Arc<TurnRequest>) -> Result<TurnBatch, JobError> {
    let (asked, shared) = (Arc::clone(request), Arc::clone(store));
    let take = async move { turns::fetch_turns(&shared, &asked).await };
    undo::taken(store, take, undo_turns).await
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
    let _interest = store.outbox.interest(&fetch.filter.tags);
    let request = Arc::new(WorkRequest {
        slots: fetch.slots.to_vec(),
        lock_for: lease_length(fetch.lock_timeout),
        tag_filter: fetch.filter.tags.clone(),
    });
    loop {
        let (asked, shared) = (Arc::clone(&request), Arc::clone(store));
        let take = async move { worker_queue::fetch_work(&shared, &asked).await };
        let batch = undo::taken(store, take, |store, batch| async move {
            worker_queue::undo(&store, batch).await
        });
        let batch = batch.await.during(operation)?;
        if !batch.work.is_empty() {
            return Ok(batch.work.into_iter().map(decode_work).collect());
        }
        // A commit that leases its own activities tells nobody: there is nothing to fetch. Whoever
        // holds such a lease may lose it.
        let lease = fetch.lock_timeout.max(limits::LEASE_LOOK_INTERVAL_MIN);
        let look = store.clock().now_ms().saturating_add(millis(lease));
        let due = batch.next_due.map_or(look, |due| due.min(look));
        if !wait.until(Some(due)).await {
            return Ok(Vec::new());
        }
    }
}

/// Fetches activities that nobody started in time, waiting up to the poll timeout for the first.
pub(crate) async fn fetch_overdue(
    store: &Arc<Store>,
    fetch: OverdueFetch,
) -> Result<Vec<FetchedWork>, ProviderError> {
    if fetch.work_max == 0 {
        return Ok(Vec::new());
    }
    let mut wait = Wait::new(store, ChangeScope::StartLimits, fetch.poll_timeout);
    let lock_for = lease_length(fetch.lock_timeout);
    loop {
        let shared = Arc::clone(store);
        let take =
            async move { worker_queue::fetch_overdue(&shared, fetch.work_max, lock_for).await };
        let batch = undo::taken(store, take, |store, batch| async move {
            worker_queue::undo(&store, batch).await
        });
        let batch = batch.await.during("fetch_overdue_work")?;
        if !batch.work.is_empty() {
            return Ok(batch.work.into_iter().map(decode_work).collect());
        }
        if !wait.until(batch.next_due).await {
            return Ok(Vec::new());
        }
    }
}

struct Wait<'a> {
    store: &'a Store,
    changes: ChangeWatch,
    deadline: Instant,
}

impl<'a> Wait<'a> {
    fn new(store: &'a Store, scope: ChangeScope<'_>, poll_timeout: Duration) -> Self {
        let deadline = Instant::now() + poll_timeout.min(limits::POLL_TIMEOUT_MAX);
        Self { store, changes: store.hub.watch(scope), deadline }
    }

    /// Whether there is a reason to look, before any wait.
    fn is_told(&mut self, looked: Instant, due: Option<u64>) -> bool {
        self.changes.take_news()
            || self.is_due(due)
            || looked.elapsed() >= self.store.settings.safety_poll
    }

    fn is_due(&self, due: Option<u64>) -> bool {
        due.is_some_and(|due| due <= self.store.clock().now_ms())
    }

    /// Waits for a change or for `due`; false if the caller's time is up.
    async fn until(&mut self, due: Option<u64>) -> bool {
        let now = Instant::now();
        if now >= self.deadline {
            return false;
        }
        let clock = self.store.clock();
        let due = async {
            match due {
                Some(due) => clock.sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        let look_again = now + self.store.settings.safety_poll;
        tokio::select! {
            () = self.changes.changed() => true,
            () = due => true,
            () = tokio::time::sleep_until(self.deadline.min(look_again)) => {
                Instant::now() < self.deadline
            }
        }
    }
}

/// An activity whose text cannot be read is handed out under a name that nobody has: it is tried
/// as often as any other and then fails, so that its orchestration hears of it.
fn decode_work(work: RawWork) -> FetchedWork {
    let item = match serde_json::from_str(&work.text) {
        Ok(item) => item,
        Err(error) => {
            let row = work.token.row;
            tracing::error!(row, %error, "an activity of the worker queue cannot be read");
            WorkItem::ActivityExecute {
                instance: work.asked_by.instance,
                execution_id: work.asked_by.execution_id,
                id: work.asked_by.activity_id,
                name: format!("unreadable activity (row {row}: {error})"),
                input: work.text,
                session_id: None,
                tag: None,
            }
        }
    };
    FetchedWork::new(item, work.token.text(), work.attempt_count)
        .with_slot(work.slot)
        .with_progress(work.progress)
        .with_overdue(work.overdue.map(Duration::from_millis))
}

/// A bug in a task of ours.
pub(crate) fn panicked() -> JobError {
    JobError::Broken("a storage task panicked".to_owned())
}
