//! Delays for tests that need a slow turn. They hold for the whole process.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Default)]
struct Delays {
    /// Holds for every instance, as long as no prefix is registered.
    for_all: Option<Duration>,
    /// Holds for instances with the prefix; the latest registration wins.
    by_prefix: Vec<(String, Duration)>,
}

static DELAYS: Mutex<Delays> = Mutex::new(Delays { for_all: None, by_prefix: Vec::new() });

fn delays() -> MutexGuard<'static, Delays> {
    DELAYS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes turns slow: those of instances whose id begins with the prefix, or of all when no prefix
/// was ever given.
pub fn set_orch_processing_delay(delay: Duration, instance_prefix: Option<&str>) {
    match instance_prefix {
        Some(prefix) => delays().by_prefix.push((prefix.to_owned(), delay)),
        None => delays().for_all = Some(delay),
    }
}

/// Makes this process act as `version` of Duroxide, for good: it pins new executions to it, replays
/// by default what is pinned up to it, and below 2.0.0 does not decode the kinds of events that the
/// feature `replay-version-test` adds. Call it before anything else.
///
/// # Panics
/// When `version` is not a semantic version, or the process already acts as another one.
#[cfg(feature = "replay-version-test")]
pub fn act_as_version(version: &str) {
    crate::model::acting_version::act_as(version);
}

/// The delay of this instance's turns.
pub fn get_orch_processing_delay(instance: &str) -> Option<Duration> {
    let delays = delays();
    if delays.by_prefix.is_empty() {
        return delays.for_all;
    }
    delays
        .by_prefix
        .iter()
        .rev()
        .find(|(prefix, _delay)| instance.starts_with(prefix.as_str()))
        .map(|(_prefix, delay)| *delay)
}

/// Makes all turns as fast as they are.
pub fn clear_orch_processing_delay() {
    *delays() = Delays::default();
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, because the delays are shared by the whole process.
    #[test]
    fn a_delay_holds_for_its_prefix_or_for_all() {
        let (short, long) = (Duration::from_millis(1), Duration::from_millis(2));
        assert_eq!(get_orch_processing_delay("a1"), None);

        set_orch_processing_delay(short, None);
        assert_eq!(get_orch_processing_delay("a1"), Some(short));

        set_orch_processing_delay(long, Some("a"));
        assert_eq!(get_orch_processing_delay("a1"), Some(long));
        assert_eq!(get_orch_processing_delay("b1"), None);

        clear_orch_processing_delay();
        assert_eq!(get_orch_processing_delay("a1"), None);
    }
}
