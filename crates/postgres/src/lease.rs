//! A fetch that may be dropped at any await, as the contract says: what it took then goes back.

use std::future::Future;
use std::sync::Arc;

use tokio::sync::oneshot;

use crate::error::JobError;
use crate::fetch_wait::panicked;
use crate::store::Store;

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
    let (reply, answer) = oneshot::channel();
    let shared = Arc::clone(store);
    tokio::spawn(async move {
        let outcome = take.await;
        if let Err(Ok(undelivered)) = reply.send(outcome) {
            give_back(shared, undelivered, undo).await;
        }
    });
    let mut lease = Lease { answer: Some(answer), store: Arc::clone(store), undo };
    let Some(answer) = lease.answer.as_mut() else { return Err(panicked()) };
    let outcome = answer.await.map_err(|_| panicked())?;
    lease.answer = None;
    outcome
}

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
}

impl<T, Undo, Undone> Drop for Lease<T, Undo, Undone>
where
    T: Send + 'static,
    Undo: Fn(Arc<Store>, T) -> Undone + Copy + Send + 'static,
    Undone: Future<Output = Result<(), JobError>> + Send + 'static,
{
    fn drop(&mut self) {
        let Some(mut answer) = self.answer.take() else { return };
        // After this an answer is either here already or fails to be sent, in which case the task
        // gives the lease back.
        answer.close();
        if let Ok(Ok(value)) = answer.try_recv() {
            let give_back = give_back(Arc::clone(&self.store), value, self.undo);
            // Without a runtime the leases run out by themselves.
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(give_back);
            }
        }
    }
}
