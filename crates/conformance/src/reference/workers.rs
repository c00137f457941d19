//! Nodes that run turns or activities.

use duroxide_core::clock::millis;
use duroxide_core::providers::{LiveWorker, WorkerAnnouncement};

use super::store::Store;

/// Stores the announcement of a node, and removes expired ones.
pub(crate) fn announce(store: &mut Store, now: u64, announcement: &WorkerAnnouncement) {
    store.workers.retain(|_, worker| now < worker.expires_at_ms);
    let mut activities = announcement.activities.clone();
    activities.sort_unstable();
    let worker = LiveWorker::new(
        announcement.node_id.clone(),
        now.saturating_add(millis(announcement.expires_in)),
    )
    .with_tag_filter(announcement.tag_filter.clone())
    .with_activities(activities)
    .with_turns(announcement.turns.clone());
    store.workers.insert(worker.node_id.clone(), worker);
}

/// Nodes that have not expired, by their names.
pub(crate) fn live(store: &Store, now: u64) -> Vec<LiveWorker> {
    store.workers.values().filter(|worker| now < worker.expires_at_ms).cloned().collect()
}
