//! How the writer waits for the write lock that another process holds.
//!
//! SQLite's own wait sleeps up to 100 ms between two tries. While other processes commit in quick
//! succession it misses the moments at which the lock is free, for a second and more: longer than
//! a lease may be. With short sleeps the wait is about as long as the commits of the others.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::limits;

thread_local! {
    /// How long this thread waits at most, and since when.
    static WAIT: Cell<(Duration, Option<Instant>)> = const { Cell::new((Duration::ZERO, None)) };
}

/// Makes a connection of this thread retry often, for at most `timeout`.
pub(crate) fn install(connection: &mut Connection, timeout: Duration) -> rusqlite::Result<()> {
    WAIT.set((timeout, None));
    connection.busy_handler(Some(retry))
}

/// Waits for at most `timeout` within `work`, on the thread of the connection.
pub(crate) fn with_patience<T>(timeout: Duration, work: impl FnOnce() -> T) -> T {
    let (usual, _) = WAIT.get();
    WAIT.set((timeout.min(usual), None));
    let result = work();
    WAIT.set((usual, None));
    result
}

/// Called by SQLite with the number of tries so far; false means that the call fails.
fn retry(tries: i32) -> bool {
    let (timeout, since) = WAIT.get();
    let since = match since {
        Some(since) if tries > 0 => since,
        _first => Instant::now(),
    };
    WAIT.set((timeout, Some(since)));
    if since.elapsed() >= timeout {
        return false;
    }
    std::thread::sleep(limits::BUSY_PAUSE);
    true
}
