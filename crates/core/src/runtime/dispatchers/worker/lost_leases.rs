//! Cancels running activities whose lease another node has removed.
//!
//! A turn of this node cancels its activities itself. A turn of another node removes them from the
//! queue, and the worker would detect that only when it renews the lease. If the store notifies of
//! such changes, this task asks at once which leases are lost. It asks nothing while nothing
//! changes or no activity runs.

use std::sync::Arc;

use tracing::debug;

use crate::limits::LOST_LEASES_PAUSE;
use crate::providers::ChangeScope;
use crate::runtime::activities::Activities;

/// Watches until the node stops, if the store notifies of changes.
pub(super) fn start(activities: &Arc<Activities>) {
    let watched = Arc::clone(activities);
    let tasks = &activities.node.tasks;
    tasks.supervise("watch for lost leases", move || watch(Arc::clone(&watched)));
}

async fn watch(activities: Arc<Activities>) {
    let node = &activities.node;
    let Some(mut changes) = node.provider.watch(ChangeScope::WorkLocks) else { return };
    let mut changed = async || {
        changes.changed().await;
        tokio::time::sleep(LOST_LEASES_PAUSE).await;
    };
    while node.tasks.unless_stopped(changed()).await.is_some() {
        cancel_lost(&activities).await;
    }
}

async fn cancel_lost(activities: &Activities) {
    let tokens = activities.running.lock_tokens();
    if tokens.is_empty() {
        return;
    }
    match activities.node.provider.find_lost_work_locks(&tokens).await {
        Ok(lost) => activities.running.cancel_lost(&lost),
        Err(error) => {
            debug!(
                target: "duroxide::runtime", %error,
                "could not check for lost leases; the next renewal will detect them"
            );
        }
    }
}
