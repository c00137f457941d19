//! A queue of reads that several threads serve.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Gives each entry to exactly one of the waiting threads, and wakes only that one.
pub(crate) struct ReadJobs<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    entries: VecDeque<T>,
    is_closed: bool,
}

impl<T> ReadJobs<T> {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        let state = State { entries: VecDeque::new(), is_closed: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Adds an entry, or drops it if the queue is closed.
    pub(crate) fn push(&self, entry: T) {
        let mut state = self.lock();
        if state.is_closed {
            return;
        }
        state.entries.push_back(entry);
        self.changed.notify_one();
    }

    /// Waits for an entry; `None` once the queue is closed and empty.
    pub(crate) fn next(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if let Some(entry) = state.entries.pop_front() {
                return Some(entry);
            }
            if state.is_closed {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Ends the queue: no entry follows.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    // No code of a caller runs under the lock, so a panic cannot leave it half changed.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn every_entry_reaches_one_thread_and_the_close_reaches_all() {
        let jobs = Arc::new(ReadJobs::new());
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let jobs = Arc::clone(&jobs);
                std::thread::spawn(move || {
                    let mut received = Vec::new();
                    while let Some(entry) = jobs.next() {
                        received.push(entry);
                    }
                    received
                })
            })
            .collect();
        for entry in 0..1000 {
            jobs.push(entry);
        }
        jobs.close();
        let mut all: Vec<i32> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
    }
}
