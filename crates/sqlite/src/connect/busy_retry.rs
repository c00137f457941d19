//! How the writer waits for its turn among several processes.
//!
//! SQLite's own wait sleeps up to 100 ms between two tries. While other processes commit in quick
//! succession it misses the moments at which the lock is free, for a second and more: longer than
//! a lease may be. Short sleeps make the wait about as long as the commits of the others.

use std::cell::Cell;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::limits;

thread_local! {
    /// How long this thread waits at the most, and since when it does.
    static WAIT: Cell<(Duration, Option<Instant>)> = const { Cell::new((Duration::ZERO, None)) };
}

/// Makes a connection of this thread try often for as long as `patience`.
pub(crate) fn try_often(connection: &mut Connection, patience: Duration) -> rusqlite::Result<()> {
    WAIT.set((patience, None));
    connection.busy_handler(Some(goes_on))
}

/// Called by SQLite with the number of tries so far; false means that the call fails.
fn goes_on(tries: i32) -> bool {
    let (patience, since) = WAIT.get();
    let since = match since {
        Some(since) if tries > 0 => since,
        _first => Instant::now(),
    };
    WAIT.set((patience, Some(since)));
    if since.elapsed() >= patience {
        return false;
    }
    std::thread::sleep(limits::BUSY_PAUSE);
    true
}
