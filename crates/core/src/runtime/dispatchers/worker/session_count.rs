//! How many sessions have running activities on this node, and which slots own sessions.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Distinct sessions in use, up to a limit.
#[derive(Debug, Clone)]
pub(crate) struct SessionCount {
    sessions_max: usize,
    in_use: Arc<Mutex<HashMap<String, usize>>>,
    /// Slots that have served a session. Such a slot may own it for long after; to take it for an
    /// owner when it is none any more costs a fetch now and then.
    owners: Arc<Mutex<BTreeSet<usize>>>,
    freed: Arc<Notify>,
}

/// One activity of a session; dropping it ends the use.
#[derive(Debug)]
pub(crate) struct SessionUse {
    session: String,
    in_use: Arc<Mutex<HashMap<String, usize>>>,
}

impl SessionCount {
    pub(crate) fn new(sessions_max: usize) -> Self {
        let (in_use, owners, freed) = Default::default();
        Self { sessions_max, in_use, owners, freed }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.lock().len() >= self.sessions_max
    }

    fn owners(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says that a slot serves a session, which no other slot may serve after.
    pub(crate) fn note_owner(&self, slot: usize) {
        self.owners().insert(slot);
    }

    /// Whether sessions may wait for this very slot.
    pub(crate) fn is_owner(&self, slot: usize) -> bool {
        self.owners().contains(&slot)
    }

    /// Says that a session has ended its use of this node: there is room for another.
    pub(crate) fn note_freed(&self) {
        self.freed.notify_one();
    }

    /// Says that a slot is free again, which sessions may have waited for.
    pub(crate) fn note_slot_freed(&self, slot: usize) {
        if self.is_owner(slot) {
            self.freed.notify_one();
        }
    }

    /// Ends when a slot that owns sessions, or room for one more, has become free since the last
    /// call. For one caller at a time.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Counts an activity of a session; `None` if that would be one session too many.
    pub(crate) fn enter(&self, session: &str) -> Option<SessionUse> {
        let mut in_use = self.lock();
        if !in_use.contains_key(session) && in_use.len() >= self.sessions_max {
            return None;
        }
        *in_use.entry(session.to_owned()).or_insert(0) += 1;
        Some(SessionUse { session: session.to_owned(), in_use: Arc::clone(&self.in_use) })
    }
}

impl Drop for SessionUse {
    fn drop(&mut self) {
        let mut in_use = self.in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = in_use.get_mut(&self.session) {
            *count -= 1;
            if *count == 0 {
                in_use.remove(&self.session);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_counts_once_and_until_its_last_activity_ends() {
        let sessions = SessionCount::new(1);
        let first = sessions.enter("a");
        let second = sessions.enter("a");
        assert!(first.is_some() && second.is_some());
        assert!(sessions.enter("b").is_none());
        drop(first);
        assert!(sessions.is_full());
        drop(second);
        assert!(sessions.enter("b").is_some());
    }
}
