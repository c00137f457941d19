//! How long the handlers of activities run on this node.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::limits::{PREFETCH_TIME_MAX, QUICK_ACTIVITY_MAX};
use crate::model::WorkItem;

/// The usual duration of each activity; recent runs weigh most.
#[derive(Debug, Default)]
pub(super) struct ActivityDurations(Mutex<HashMap<String, Duration>>);

impl ActivityDurations {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Duration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that an activity took this long.
    pub(super) fn record(&self, name: &str, took: Duration) {
        let mut usual = self.lock();
        match usual.get_mut(name) {
            Some(usual) => *usual = (*usual * 7 + took) / 8,
            None => {
                usual.insert(name.to_owned(), took);
            }
        }
    }

    /// Records that a prefetched activity got no slot in time. Unless it has been measured, the
    /// activities before it were probably the same, and slow.
    pub(super) fn record_late(&self, work: &WorkItem) {
        if let WorkItem::ActivityExecute { name, .. } = work {
            self.lock().entry(name.clone()).or_insert(PREFETCH_TIME_MAX);
        }
    }

    /// Whether an activity usually completes quickly. One that has not been measured counts as
    /// quick.
    pub(super) fn is_quick(&self, name: &str) -> bool {
        self.lock().get(name).is_none_or(|usual| *usual <= QUICK_ACTIVITY_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_activities_are_learnt() {
        let durations = ActivityDurations::default();
        assert!(durations.is_quick("new"));
        durations.record("slow", QUICK_ACTIVITY_MAX * 50);
        assert!(!durations.is_quick("slow"));
        for _ in 0..40 {
            durations.record("slow", Duration::ZERO);
        }
        assert!(durations.is_quick("slow"), "it has become quick");
        durations.record("slow", QUICK_ACTIVITY_MAX * 50);
        assert!(!durations.is_quick("slow"));
    }
}
