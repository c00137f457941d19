//! A thread of the node for what must go on while user code blocks the executor: the renewal of
//! leases and sessions, and announcements.
//!
//! The thread has a small executor of its own. A storage call runs on this thread, but within the
//! context of the program's executor: a store may start tasks or open connections in a call, and
//! those must not end with this thread.

use std::future::{Future, pending, poll_fn};
use std::io;
use std::pin::pin;

use tokio::runtime::{Builder, EnterGuard, Handle};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::tasks::AbortOnDrop;

/// The thread of one node.
#[derive(Debug)]
pub(crate) struct Background {
    /// The executor of the thread; that of the program if the thread could not be started.
    own: Handle,
    program: Handle,
    stop: CancellationToken,
    ended: CancellationToken,
    /// Stops the thread when the program drops its executor without a shutdown of the node.
    _sentinel: AbortOnDrop,
}

impl Background {
    /// Starts the thread. Must be called within the program's executor.
    pub(crate) fn start() -> Self {
        let program = Handle::current();
        let (stop, ended) = (CancellationToken::new(), CancellationToken::new());
        let own = start_thread(stop.clone(), ended.clone()).unwrap_or_else(|error| {
            warn!(
                target: "duroxide::runtime",
                %error,
                "could not start the thread that renews leases; other nodes will claim the work \
                 of activities that block the executor"
            );
            ended.cancel();
            program.clone()
        });
        let stopping = stop.clone().drop_guard();
        let sentinel = program.spawn(async move {
            let _stopping = stopping;
            pending::<()>().await;
        });
        Self { own, program, stop, ended, _sentinel: AbortOnDrop::new(&sentinel) }
    }

    /// Tasks that are started while the guard lives run on the thread.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.own.enter()
    }

    /// Starts a task on the thread. It ends with the node at the latest.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> AbortOnDrop {
        AbortOnDrop::new(&self.own.spawn(task))
    }

    /// Runs a task on the thread and returns when it has completed, or at once if the thread has
    /// ended.
    pub(crate) async fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Err(error) = self.own.spawn(task).await
            && error.is_panic()
        {
            warn!(target: "duroxide::runtime", %error, "a task of the node panicked");
        }
    }

    /// Runs a storage call within the context of the program's executor.
    pub(crate) async fn call<F: Future>(&self, call: F) -> F::Output {
        let mut call = pin!(call);
        poll_fn(|cx| {
            let _within = self.program.enter();
            call.as_mut().poll(cx)
        })
        .await
    }

    /// Ends the thread and all its tasks; returns when they are dropped.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.ended.cancelled().await;
    }
}

fn start_thread(stop: CancellationToken, ended: CancellationToken) -> io::Result<Handle> {
    let executor = Builder::new_current_thread().enable_time().build()?;
    let handle = executor.handle().clone();
    std::thread::Builder::new().name("duroxide-leases".to_owned()).spawn(move || {
        executor.block_on(stop.cancelled());
        drop(executor);
        ended.cancel();
    })?;
    Ok(handle)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use tokio::runtime::RuntimeFlavor;
    use tokio::sync::oneshot;

    use super::*;

    const TIMEOUT: Duration = Duration::from_secs(20);

    #[tokio::test]
    async fn tasks_go_on_while_the_executor_is_blocked() {
        let background = Background::start();
        let (sender, receiver) = mpsc::channel();
        let _task = background.spawn(async move {
            tokio::time::sleep(Duration::from_millis(1)).await;
            sender.send(()).unwrap();
        });
        // Blocks the only thread of the executor.
        receiver.recv_timeout(TIMEOUT).unwrap();
        background.stop().await;
    }

    #[test]
    fn the_thread_ends_with_the_executor_of_the_program() {
        let executor = Builder::new_current_thread().build().unwrap();
        let background = executor.block_on(async { Background::start() });
        let (sender, receiver) = mpsc::channel::<()>();
        let _task = background.spawn(async move {
            let _held = sender;
            pending::<()>().await;
        });
        drop(executor);
        assert_eq!(receiver.recv_timeout(TIMEOUT), Err(mpsc::RecvTimeoutError::Disconnected));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_call_starts_tasks_on_the_executor_of_the_program() {
        let background = Arc::new(Background::start());
        let (sender, receiver) = oneshot::channel();
        let within = Arc::clone(&background);
        let _task = background.spawn(async move {
            let own = Handle::current().runtime_flavor();
            let called = within.call(async { Handle::current().runtime_flavor() }).await;
            sender.send((own, called)).unwrap();
        });
        let expected = (RuntimeFlavor::CurrentThread, RuntimeFlavor::MultiThread);
        assert_eq!(receiver.await.unwrap(), expected);
        background.stop().await;
    }
}
