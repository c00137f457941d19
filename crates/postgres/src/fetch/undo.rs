//! A fetch that may be dropped at any await, as the contract says: what it took then goes back.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use crate::error::JobError;
use crate::fetch::waiting::panicked;
use crate::limits;
use crate::store::Store;

/// Counts fetches that were dropped and are not undone yet.
#[derive(Debug, Default)]
pub(crate) struct Returning(watch::Sender<usize>);

impl Returning {
    fn one_more(&self) -> StillReturning {
        self.0.send_modify(|count| *count += 1);
        StillReturning(self.0.clone())
    }

    /// Ends when everything that was dropped is free again: who drops a fetch and asks anew finds
    /// what the first one would have got.
    async fn ended(&self) {
        let mut count = self.0.subscribe();
        let none = count.wait_for(|count| *count == 0);
        if timeout(limits::UNDO_WAIT_MAX, none).await.is_err() {
            tracing::debug!("a dropped fetch is not undone yet");
        }
    }
}

/// A fetch that was dropped, until it is undone.
struct StillReturning(watch::Sender<usize>);

impl Drop for StillReturning {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count = count.saturating_sub(1));
    }
}

/// Runs `take` in a task of its own. If the caller goes away, `undo` gives back what was taken.
pub(crate) async fn taken<T, Take, Undo, Undone>(
    store: &Arc<Store>,
    take: Take,
    undo: Undo,
) -> Result<T, JobError>
where
    T: Send + 'static,
    Take: Future<Output = Result<T, JobError>> + Send + 'static,
    Undo: Fn(Arc<Store>, T) -> Undone + Copy + Send + 'static,
    Undone: Future<Output = Result<(), JobError>> + Send + 'static,
{
    store.returning.ended().await;
    let (reply, answer) = oneshot::channel();
    let shared = Arc::clone(store);
    let dropped = Dropped::default();
    let until_undone = Arc::clone(&dropped);
    tokio::spawn(async move {
        let outcome = take.await;
        if let Err(Ok(undelivered)) = reply.send(outcome) {
            give_back(shared, undelivered, undo).await;
        }
        drop(until_undone);
    });
    let mut lease = Lease { answer: Some(answer), store: Arc::clone(store), undo, dropped };
    let Some(answer) = lease.answer.as_mut() else { return Err(panicked()) };
    let outcome = answer.await.map_err(|_| panicked())?;
    lease.answer = None;
    outcome
}

/// Filled when the fetch is dropped; emptied with its last owner, which is the task that undoes it.
type Dropped = Arc<Mutex<Option<StillReturning>>>;

async fn give_back<T, Undo, Undone>(store: Arc<Store>, value: T, undo: Undo)
where
    Undo: Fn(Arc<Store>, T) -> Undone,
    Undone: Future<Output = Result<(), JobError>>,
{
    if let Err(error) = undo(store, value).await {
        tracing::warn!(%error, "a fetch that nobody took cannot be undone; leases run out");
    }
}

/// An answer that holds leases until it is taken.
struct Lease<T, Undo, Undone>
where
    T: Send + 'static,
    Undo: Fn(Arc<Store>, T) -> Undone + Copy + Send + 'static,
    Undone: Future<Output = Result<(), JobError>> + Send + 'static,
{
    answer: Option<oneshot::Receiver<Result<T, JobError>>>,
    store: Arc<Store>,
    undo: Undo,
    dropped: Dropped,
}

impl<T, Undo, Undone> Drop for Lease<T, Undo, Undone>
where
    T: Send + 'static,
    Undo: Fn(Arc<Store>, T) -> Undone + Copy + Send + 'static,
    Undone: Future<Output = Result<(), JobError>> + Send + 'static,
{
    fn drop(&mut self) {
        let Some(mut answer) = self.answer.take() else { return };
        let returning = self.store.returning.one_more();
        *self.dropped.lock().unwrap_or_else(PoisonError::into_inner) = Some(returning);
        // After this an answer is either here already or fails to be sent, in which case the task
        // gives the lease back.
        answer.close();
        if let Ok(Ok(value)) = answer.try_recv() {
            let (store, undo) = (Arc::clone(&self.store), self.undo);
            let until_undone = Arc::clone(&self.dropped);
            // Without a runtime the leases run out by themselves.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move {
                    give_back(store, value, undo).await;
                    drop(until_undone);
                });
            }
        }
    }
}
