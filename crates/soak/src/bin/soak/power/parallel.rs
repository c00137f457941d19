//! Several tries at once: most of their time is spent on waiting for leases.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const AT_ONCE: usize = 4;

/// A try that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) number: u64,
    pub(crate) reason: String,
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    AllAreTried,
    OneFails,
}

/// Tries all numbers; returns what the good tries gave, and the failures in order.
pub(crate) fn try_all<T: Send>(
    numbers: Range<u64>,
    until: Until,
    one: impl Fn(u64) -> Result<T, String> + Sync,
) -> (Vec<T>, Vec<Failure>) {
    let next = AtomicU64::new(numbers.start);
    let (done, failures) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _thread in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let enough = until == Until::OneFails && !lock(&failures).is_empty();
                    if number >= numbers.end || enough {
                        return;
                    }
                    match one(number) {
                        Ok(good) => lock(&done).push(good),
                        Err(reason) => lock(&failures).push(Failure { number, reason }),
                    }
                }
            });
        }
    });
    let done = std::mem::take(&mut *lock(&done));
    let mut failures = std::mem::take(&mut *lock(&failures));
    failures.sort_by_key(|failure| failure.number);
    (done, failures)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
