//! Threads that a caller can await, so that a closed database is really closed.

use std::thread::JoinHandle;

use tokio::sync::{Mutex, oneshot};

use crate::SqliteError;

/// A running thread.
#[derive(Debug)]
pub(crate) struct Thread {
    handle: JoinHandle<()>,
    /// Resolves when the thread has nothing left to do.
    ended: oneshot::Receiver<()>,
}

impl Thread {
    /// Starts a thread.
    pub(crate) fn start(
        name: &str,
        body: impl FnOnce() + Send + 'static,
    ) -> Result<Self, SqliteError> {
        let (ending, ended) = oneshot::channel::<()>();
        let handle = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                // Dropped at the very end, also by a panic.
                let _ending = ending;
                body();
            })
            .map_err(SqliteError::Thread)?;
        Ok(Self { handle, ended })
    }

    /// Blocks until the thread has ended.
    pub(crate) fn join(self) {
        // A panic has been reported by the panic hook.
        drop(self.handle.join());
    }
}

/// Threads that end together.
#[derive(Debug, Default)]
pub(crate) struct Threads(Mutex<Vec<Thread>>);

impl Threads {
    pub(crate) fn new(threads: Vec<Thread>) -> Self {
        Self(Mutex::new(threads))
    }

    /// Returns when all of them have ended. Any number of callers may wait, again and again.
    pub(crate) async fn ended(&self) {
        let mut threads = self.0.lock().await;
        // A caller that goes away leaves the rest to the next one.
        while let Some(thread) = threads.last_mut() {
            drop((&mut thread.ended).await);
            if let Some(thread) = threads.pop() {
                // Takes no time: only the operating system's part is left.
                thread.join();
            }
        }
    }
}
