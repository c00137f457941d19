//! What code costs, whatever else the machine does.

use std::time::Duration;

/// The processor time that a call takes on this thread.
#[cfg(unix)]
pub(crate) fn cpu_time<T>(call: impl FnOnce() -> T) -> (Duration, T) {
    let used = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).expect("a processor clock does not run before zero")
    };
    let start = used();
    let result = call();
    (used() - start, result)
}

/// The time that a call takes.
#[cfg(not(unix))]
pub(crate) fn cpu_time<T>(call: impl FnOnce() -> T) -> (Duration, T) {
    let start = std::time::Instant::now();
    let result = call();
    (start.elapsed(), result)
}
