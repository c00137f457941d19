//! Fetches activities for the free slots.

use std::sync::Arc;

use tokio::time::Instant;

use super::{lost_leases, sessions};
use crate::model::WorkItem;
use crate::providers::{
    ChangeScope, FetchedWork, ProviderError, SessionFetchConfig, WorkFetch, WorkSlot,
};
use crate::runtime::activities::Activities;
use crate::runtime::dispatchers::pacing::Pacing;
use crate::runtime::fast_path::{Assignment, FastPath, Streak};

/// Starts the dispatcher and the tasks that keep its sessions and leases, unless the node runs no
/// activities.
pub(crate) fn start(activities: &Arc<Activities>, fast_path: &Arc<FastPath>) {
    let node = &activities.node;
    if node.options.worker_concurrency == 0 {
        return;
    }
    node.tasks.supervise("worker dispatcher", {
        let (activities, fast_path) = (Arc::clone(activities), Arc::clone(fast_path));
        move || dispatch(Arc::clone(&activities), Arc::clone(&fast_path))
    });
    sessions::start(activities);
    lost_leases::start(activities);
}

async fn dispatch(activities: Arc<Activities>, fast_path: Arc<FastPath>) {
    let (node, slots) = (&activities.node, &activities.slots);
    let mut pacing = Pacing::new("worker", node.options.dispatcher_min_poll_interval);
    // The fetch offers all free slots, because only the slot that owns a session may serve it. It
    // does not claim them, so that a commit can use them while the queue is empty.
    while let Some(free) = node.tasks.unless_stopped(slots.wait_for_free()).await {
        let polled = Instant::now();
        let changes = node.provider.watch(ChangeScope::WorkerQueue);
        let fetched = tokio::select! {
            biased;
            fetched = node.tasks.unless_stopped(fetch(&activities, &free)) => fetched,
            // The slot that owns a session has just become free, or there is room for one more
            // session: the fetch that waits does not offer that slot.
            () = activities.sessions.freed() => continue,
            () = slots.owner_freed() => continue,
        };
        let Some(fetched) = fetched else { return };
        match fetched {
            Ok(work) if work.is_empty() => {
                pacing.succeeded();
                pacing.idle(polled, changes, &node.tasks).await;
            }
            Ok(work) => {
                pacing.succeeded();
                node.metrics().record_worker_dispatcher_items_fetched(work.len() as u64);
                for fetched in work {
                    assign(&activities, &fast_path, &free, fetched).await;
                }
            }
            Err(error) => pacing.failed(&error, &node.tasks).await,
        }
    }
}

/// Runs an activity in the slot that it was fetched for, or releases it if a commit has used the
/// slot meanwhile.
async fn assign(
    activities: &Activities,
    fast_path: &Arc<FastPath>,
    offered: &[usize],
    mut fetched: FetchedWork,
) {
    let slots = &activities.slots;
    let index = offered.get(fetched.slot).copied().unwrap_or(fetched.slot);
    let has_session = matches!(fetched.item, WorkItem::ActivityExecute { session_id: Some(_), .. });
    let slot = match slots.claim(index) {
        // Only the owner of a session may serve it: this slot, unless the node is the owner. The
        // next fetch may leave the slot out; when it is free again, it must be offered at once.
        None if has_session && activities.node.options.worker_node_id.is_none() => {
            slots.own_session(index);
            None
        }
        None => slots.claim_any(),
        slot => slot,
    };
    match slot {
        Some(slot) => {
            fetched.slot = slot.index;
            fast_path.start(Assignment { slot, fetched, streak: Streak::new() });
        }
        None => fast_path.release(&fetched.lock_token).await,
    }
}

async fn fetch(activities: &Activities, free: &[usize]) -> Result<Vec<FetchedWork>, ProviderError> {
    let options = &activities.node.options;
    // At the limit of sessions, the node accepts only activities without one.
    let with_sessions = !activities.sessions.is_full();
    let slots: Vec<WorkSlot> = free
        .iter()
        .map(|slot| {
            WorkSlot::new(with_sessions.then(|| SessionFetchConfig {
                owner_id: activities.session_owner(*slot),
                lock_timeout: options.session_lock_timeout,
            }))
        })
        .collect();
    let request = WorkFetch::new(&slots, options.worker_lock_timeout)
        .with_poll_timeout(options.dispatcher_long_poll_timeout)
        .with_filter(&activities.node.filter);
    activities.node.provider.fetch_work_items(request).await
}
