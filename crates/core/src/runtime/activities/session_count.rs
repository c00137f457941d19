//! How many sessions have running activities on this node.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Distinct sessions in use, up to a limit.
#[derive(Debug, Clone)]
pub(crate) struct SessionCount {
    sessions_max: usize,
    in_use: Arc<Mutex<HashMap<String, usize>>>,
    freed: Arc<Notify>,
}

/// One running activity of a session. Dropping it ends the use.
#[derive(Debug)]
pub(crate) struct SessionUse {
    session: String,
    in_use: Arc<Mutex<HashMap<String, usize>>>,
}

/// Whether an activity of a session may run on this node.
#[derive(Debug)]
pub(crate) enum Admission {
    /// It may, and counts until this is dropped.
    Admitted { _counted: SessionUse },
    /// Its session would be one more than this node may serve.
    OverLimit,
}

impl SessionCount {
    pub(crate) fn new(sessions_max: usize) -> Self {
        Self { sessions_max, in_use: Arc::default(), freed: Arc::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.in_use.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_full(&self) -> bool {
        self.lock().len() >= self.sessions_max
    }

    /// Notifies the dispatcher that the slot of a session's activity is free again.
    pub(crate) fn note_freed(&self) {
        self.freed.notify_one();
    }

    /// Returns when the slot of a session's activity has become free since the last call. One
    /// caller at a time.
    pub(crate) async fn freed(&self) {
        self.freed.notified().await;
    }

    /// Counts an activity of a session.
    pub(crate) fn enter(&self, session: &str) -> Admission {
        let mut in_use = self.lock();
        if !in_use.contains_key(session) && in_use.len() >= self.sessions_max {
            return Admission::OverLimit;
        }
        *in_use.entry(session.to_owned()).or_insert(0) += 1;
        let in_use = Arc::clone(&self.in_use);
        Admission::Admitted { _counted: SessionUse { session: session.to_owned(), in_use } }
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

    fn is_admitted(admission: &Admission) -> bool {
        matches!(admission, Admission::Admitted { .. })
    }

    #[test]
    fn a_session_counts_once_until_its_last_activity_completes() {
        let sessions = SessionCount::new(1);
        let first = sessions.enter("a");
        let second = sessions.enter("a");
        assert!(is_admitted(&first) && is_admitted(&second));
        assert!(!is_admitted(&sessions.enter("b")));
        drop(first);
        assert!(sessions.is_full());
        drop(second);
        assert!(is_admitted(&sessions.enter("b")));
    }
}
