//! Activities that run on this node, so that a cancellation reaches them at once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::providers::ScheduledActivityIdentifier;
use crate::runtime::limits::CANCELLATIONS_REMEMBERED_MAX;

/// Running activities by what scheduled them.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunningActivities {
    shared: Arc<Mutex<Running>>,
}

#[derive(Debug, Default)]
struct Running {
    tokens: HashMap<ScheduledActivityIdentifier, CancellationToken>,
    /// Cancelled when they were not running here: perhaps fetched a moment ago.
    missed: VecDeque<ScheduledActivityIdentifier>,
}

/// A registered activity; dropping it ends the registration.
#[derive(Debug)]
pub(crate) struct Registered {
    id: ScheduledActivityIdentifier,
    /// Fires when a turn committed on this node no longer wants the activity.
    pub(crate) unwanted: CancellationToken,
    /// A turn may have cancelled it before it was registered; the lease tells.
    pub(crate) doubtful: bool,
    shared: Arc<Mutex<Running>>,
}

impl RunningActivities {
    fn lock(&self) -> MutexGuard<'_, Running> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn register(&self, id: ScheduledActivityIdentifier) -> Registered {
        let unwanted = CancellationToken::new();
        let mut running = self.lock();
        running.tokens.insert(id.clone(), unwanted.clone());
        let missed = running.missed.iter().position(|missed| *missed == id);
        if let Some(position) = missed {
            running.missed.remove(position);
        }
        let doubtful = missed.is_some();
        Registered { id, unwanted, doubtful, shared: Arc::clone(&self.shared) }
    }

    /// Tells activities that a committed turn no longer wants them.
    pub(crate) fn cancel(&self, ids: &[ScheduledActivityIdentifier]) {
        if ids.is_empty() {
            return;
        }
        let mut running = self.lock();
        for id in ids {
            if let Some(token) = running.tokens.get(id) {
                token.cancel();
            } else {
                if running.missed.len() >= CANCELLATIONS_REMEMBERED_MAX {
                    running.missed.pop_front();
                }
                running.missed.push_back(id.clone());
            }
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut running = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        running.tokens.remove(&self.id);
    }
}
