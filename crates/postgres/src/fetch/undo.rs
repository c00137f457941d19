//! A caller may drop a fetch at any await, as the contract says: its leases are then released.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::error::JobError;
use crate::limits;
use crate::store::Store;

/// Counts fetches that were dropped and are not undone yet.
#[derive(Debug, Default)]
pub(crate) struct DroppedFetches(watch::Sender<usize>);

impl DroppedFetches {
    fn add(&self) -> DroppedFetch {
        self.0.send_modify(|count| *count += 1);
        DroppedFetch(self.0.clone())
    }

    /// Returns when every dropped fetch is undone: a caller that drops a fetch and fetches again
    /// finds what the first fetch would have returned, and a process that exits leaves no leases.
    pub(crate) async fn undone(&self) {
        let mut count = self.0.subscribe();
        let none = count.wait_for(|count| *count == 0);
        if timeout(limits::UNDO_WAIT_MAX, none).await.is_err() {
            tracing::debug!(
                target: "duroxide::providers::postgres",
                "a dropped fetch is not undone yet; going on without it"
            );
        }
    }
}

/// A fetch that was dropped, until it is undone.
struct DroppedFetch(watch::Sender<usize>);

impl Drop for DroppedFetch {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Runs `fetch` in a task of its own. If the caller goes away, `undo` releases what it leased.
pub(crate) async fn undone_if_dropped<T, Fetch, Undo, Undone>(
    store: &Arc<Store>,
    fetch: Fetch,
    undo: Undo,
) -> Result<T, JobError>
where
    T: Send + 'static,
    Fetch: Future<Output = Result<T, JobError>> + Send + 'static,
    Undo: Fn(Arc<Store>, T) -> Undone + Copy + Send + 'static,
    Undone: Future<Output = Result<(), JobError>> + Send + 'static,
{
    store.dropped_fetches.undone().await;
    let (reply, response) = oneshot::channel();
    let shared = Arc::clone(store);
    let dropped = Dropped::default();
    let until_undone = Arc::clone(&dropped);
    tokio::spawn(async move {
        let outcome = fetch.await;
        if let Err(Ok(undelivered)) = reply.send(outcome) {
            release(shared, undelivered, undo).await;
        }
        drop(until_undone);
    });
    let mut pending =
        PendingFetch { response: Some(response), store: Arc::clone(store), undo, dropped };
    let Some(response) = pending.response.as_mut() else { return Err(JobError::panicked()) };
    let outcome = response.await.map_err(|_| JobError::panicked())?;
    pending.response = None;
    outcome
}

/// Filled when the fetch is dropped; emptied by its last owner, the task that undoes the fetch.
type Dropped = Arc<Mutex<Option<DroppedFetch>>>;

async fn release<T, Undo, Undone>(store: Arc<Store>, value: T, undo: Undo)
where
    Undo: Fn(Arc<Store>, T) -> Undone,
    Undone: Future<Output = Result<(), JobError>>,
{
    if let Err(error) = undo(store, value).await {
        tracing::warn!(
            target: "duroxide::providers::postgres",
            %error,
            "could not undo a dropped fetch; its leases will expire"
        );
    }
}

/// A response that holds leases until the caller receives it.
struct PendingFetch<T, Undo, Undone>
where
    T: Send + 'static,
    Undo: Fn(Arc<Store>, T) -> Undone + Copy + Send + 'static,
    Undone: Future<Output = Result<(), JobError>> + Send + 'static,
{
    response: Option<oneshot::Receiver<Result<T, JobError>>>,
    store: Arc<Store>,
    undo: Undo,
    dropped: Dropped,
}

impl<T, Undo, Undone> Drop for PendingFetch<T, Undo, Undone>
where
    T: Send + 'static,
    Undo: Fn(Arc<Store>, T) -> Undone + Copy + Send + 'static,
    Undone: Future<Output = Result<(), JobError>> + Send + 'static,
{
    fn drop(&mut self) {
        let Some(mut response) = self.response.take() else { return };
        let undoing = self.store.dropped_fetches.add();
        *self.dropped.lock().unwrap_or_else(PoisonError::into_inner) = Some(undoing);
        // After this a response is either here already, or the task fails to send it and releases
        // the leases itself.
        response.close();
        if let Ok(Ok(value)) = response.try_recv() {
            let (store, undo) = (Arc::clone(&self.store), self.undo);
            let until_undone = Arc::clone(&self.dropped);
            // Without a runtime the leases expire.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    release(store, value, undo).await;
                    drop(until_undone);
                });
            }
        }
    }
}
