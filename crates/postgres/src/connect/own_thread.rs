//! A thread of the store for what must go on while user code blocks the executor of the program:
//! renewals of leases and sessions, and announcements of nodes.
//!
//! A connection is read and written by a task of the executor on which it was opened, and its
//! deadlines are timers of that executor. These calls therefore run on an executor of the store's
//! own, over connections that are opened there. Other calls do not: each would cross threads twice.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinSet;

use crate::error::JobError;
use crate::limits;

/// The thread; the first call starts it.
#[derive(Debug, Default)]
pub(crate) struct OwnThread(Mutex<State>);

#[derive(Debug, Default)]
enum State {
    #[default]
    Unused,
    Running(Runtime),
    /// It could not be started: the executor of the caller takes its place.
    Missing,
    Closed,
}

impl OwnThread {
    /// Runs a call on the thread, and aborts it if the caller goes away.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        call: impl Future<Output = Result<T, JobError>> + Send + 'static,
    ) -> Result<T, JobError> {
        let executor = self.executor()?;
        let mut tasks = JoinSet::new();
        tasks.spawn_on(call, &executor);
        match tasks.join_next().await {
            Some(Ok(outcome)) => outcome,
            Some(Err(error)) if error.is_panic() => Err(JobError::panicked()),
            Some(Err(_)) | None => Err(closed()),
        }
    }

    /// Starts a call on the thread that no one awaits.
    pub(crate) fn start(&self, call: impl Future<Output = ()> + Send + 'static) {
        if let Ok(executor) = self.executor() {
            executor.spawn(call);
        }
    }

    /// Aborts what runs on the thread, and returns when it has ended.
    pub(crate) async fn close(&self) {
        let state = std::mem::replace(&mut *self.lock(), State::Closed);
        if let State::Running(executor) = state {
            // Waits for a source of passwords that does not return.
            let end = move || executor.shutdown_timeout(limits::OWN_THREAD_ENDS_WITHIN);
            if let Err(error) = tokio::task::spawn_blocking(end).await {
                tracing::warn!(
                    target: "duroxide::providers::postgres",
                    %error,
                    "could not wait for the end of the thread that renews leases"
                );
            }
        }
    }

    fn executor(&self) -> Result<Handle, JobError> {
        let mut state = self.lock();
        if matches!(*state, State::Unused) {
            *state = start();
        }
        match &*state {
            State::Running(executor) => Ok(executor.handle().clone()),
            State::Unused | State::Missing => Handle::try_current().map_err(|_| closed()),
            State::Closed => Err(closed()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start() -> State {
    let mut builder = Builder::new_multi_thread();
    match builder.worker_threads(1).thread_name("duroxide-pg").enable_all().build() {
        Ok(executor) => State::Running(executor),
        Err(error) => {
            tracing::warn!(
                target: "duroxide::providers::postgres",
                %error,
                "could not start the thread that renews leases; other nodes will claim the work \
                 of activities that block the executor"
            );
            State::Missing
        }
    }
}

fn closed() -> JobError {
    JobError::stopped("the provider has been closed")
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        if let State::Running(executor) = std::mem::take(&mut *self.lock()) {
            // Does not wait: a provider may be dropped by any task, also by one of its own.
            executor.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    /// Starts a call that does not complete at once.
    async fn poll_once(call: impl Future) {
        tokio::select! {
            biased;
            _ = call => panic!("it completed at once"),
            () = std::future::ready(()) => {}
        }
    }

    #[tokio::test]
    async fn calls_go_on_while_the_executor_is_blocked() {
        let thread = OwnThread::default();
        let (sender, receiver) = mpsc::channel();
        let call = thread.run(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            sender.send(()).map_err(|error| JobError::Broken(error.to_string()))
        });
        tokio::pin!(call);
        // Starts the call, and then blocks the only thread of this executor.
        poll_once(&mut call).await;
        receiver.recv_timeout(TIMEOUT).unwrap();
        call.await.unwrap();
        thread.close().await;
        let error = thread.run(async { Ok(()) }).await.unwrap_err();
        assert_eq!(error.to_string(), "the provider has been closed");
    }

    #[tokio::test]
    async fn a_call_ends_with_its_caller() {
        let thread = OwnThread::default();
        let (sender, receiver) = mpsc::channel::<()>();
        {
            let call = thread.run(async move {
                let _held = sender;
                std::future::pending::<Result<(), JobError>>().await
            });
            tokio::pin!(call);
            poll_once(&mut call).await;
        }
        assert_eq!(receiver.recv_timeout(TIMEOUT), Err(mpsc::RecvTimeoutError::Disconnected));
    }

    #[tokio::test]
    async fn the_end_of_the_thread_is_an_error_of_its_calls() {
        let thread = OwnThread::default();
        let endless = thread.run(std::future::pending::<Result<(), JobError>>());
        let (outcome, ()) = tokio::join!(endless, thread.close());
        assert!(outcome.is_err());
        let panics = OwnThread::default();
        let outcome = panics.run::<()>(async { panic!("a defect") }).await;
        assert_eq!(outcome.unwrap_err().to_string(), "a storage task panicked");
    }
}
