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

/// One activity of a session; dropping it ends the use.
#[derive(Debug)]
pub(crate) struct SessionUse {
    session: String,
    in_use: Arc<Mutex<HashMap<String, usize>>>,
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

    /// Says that the slot of a session's activity is free again.
    pub(crate) fn note_freed(&self) {
        self.freed.notify_one();
    }

    /// Ends when the slot of a session's activity has become free since the last call. For one
    /// caller at a time.
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
