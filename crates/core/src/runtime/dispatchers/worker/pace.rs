//! How long activities take on this node.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::limits::{AHEAD_TIME_MAX, QUICK_ACTIVITY_MAX};
use crate::model::WorkItem;

/// The usual time of each activity, the last ones counting most.
#[derive(Debug, Default)]
pub(crate) struct Pace(Mutex<HashMap<String, Duration>>);

impl Pace {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Duration>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An activity took this long.
    pub(super) fn note(&self, name: &str, took: Duration) {
        let mut usual = self.lock();
        match usual.get_mut(name) {
            Some(usual) => *usual = (*usual * 7 + took) / 8,
            None => {
                usual.insert(name.to_owned(), took);
            }
        }
    }

    /// An activity was not even begun in time: those before it were slow, if they were the same.
    pub(super) fn note_late(&self, work: &WorkItem) {
        if let WorkItem::ActivityExecute { name, .. } = work {
            self.lock().entry(name.clone()).or_insert(AHEAD_TIME_MAX);
        }
    }

    /// Whether an activity ends as soon as it begins, as far as anybody knows.
    pub(super) fn is_quick(&self, name: &str) -> bool {
        self.lock().get(name).is_none_or(|usual| *usual <= QUICK_ACTIVITY_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quick_is_learnt() {
        let pace = Pace::default();
        assert!(pace.is_quick("new"));
        pace.note("slow", QUICK_ACTIVITY_MAX * 50);
        assert!(!pace.is_quick("slow"));
        for _ in 0..40 {
            pace.note("slow", Duration::ZERO);
        }
        assert!(pace.is_quick("slow"), "it has become quick");
        pace.note("slow", QUICK_ACTIVITY_MAX * 50);
        assert!(!pace.is_quick("slow"));
    }
}
