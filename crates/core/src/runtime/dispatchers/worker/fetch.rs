//! Fetches activities for the free slots.

use std::sync::Arc;

use tokio::time::Instant;

use super::handover::{Assignment, Stint};
use super::{process, sessions, stolen};
use crate::model::WorkItem;
use crate::providers::{
    ChangeScope, FetchedWork, ProviderError, SessionFetchConfig, WorkFetch, WorkSlot,
};
use crate::runtime::dispatchers::pacing::Pacing;
use crate::runtime::dispatchers::returning::log_unreturned;
use crate::runtime::node::Node;

/// Starts the dispatcher and the keeper of its sessions, unless the node runs no activities.
pub(crate) fn start(node: &Arc<Node>) {
    if node.options.worker_concurrency == 0 {
        return;
    }
    node.tasks.supervise("worker dispatcher", {
        let node = Arc::clone(node);
        move || dispatch(Arc::clone(&node))
    });
    sessions::start(node);
    stolen::start(node);
}

async fn dispatch(node: Arc<Node>) {
    let mut pacing = Pacing::new("worker", node.options.dispatcher_min_poll_interval);
    // All free slots are offered: a session is served by none but the slot that owns it. They are
    // not taken, so that a commit can hand over activities while the queue is empty.
    while let Some(free) = node.tasks.unless_stopped(node.worker_slots.wait_for_free()).await {
        let asked = Instant::now();
        let changes = node.provider.watch(ChangeScope::WorkerQueue);
        let fetched = tokio::select! {
            biased;
            fetched = node.tasks.unless_stopped(fetch(&node, &free)) => fetched,
            // The slot that owns a session is free only now, or there is room for one more: a wait
            // that began without it would not see the session's next activity.
            () = node.sessions.freed() => continue,
            () = node.worker_slots.owner_freed() => continue,
        };
        let Some(fetched) = fetched else { return };
        match fetched {
            Ok(work) if work.is_empty() => {
                pacing.succeeded();
                pacing.idle(asked, changes, &node.tasks).await;
            }
            Ok(work) => {
                pacing.succeeded();
                node.metrics().record_worker_dispatcher_items_fetched(work.len() as u64);
                for fetched in work {
                    hand_out(&node, &free, fetched).await;
                }
            }
            Err(error) => pacing.failed(&error, &node.tasks).await,
        }
    }
}

/// Runs an activity in the slot that it was fetched for.
async fn hand_out(node: &Arc<Node>, offered: &[usize], mut fetched: FetchedWork) {
    let index = offered.get(fetched.slot).copied().unwrap_or(fetched.slot);
    let has_session = matches!(fetched.item, WorkItem::ActivityExecute { session_id: Some(_), .. });
    let slot = match node.worker_slots.claim(index) {
        // Only the owner of a session may serve it; that is the slot, if not the node.
        None if has_session && node.options.worker_node_id.is_none() => None,
        None => node.worker_slots.claim_any(),
        slot => slot,
    };
    match slot {
        Some(slot) => {
            fetched.slot = slot.index;
            begin(node, Assignment { slot, fetched, stint: Stint::begin() });
        }
        None => give_back(node, &fetched.lock_token).await,
    }
}

/// There is no slot for it: another activity was handed over meanwhile.
pub(super) async fn give_back(node: &Node, lock_token: &str) {
    let result = node.provider.return_unstarted_work_item(lock_token, None, true).await;
    log_unreturned("activity", result);
}

/// Runs an activity, and those that follow from it or have waited for a slot, in the same slot.
pub(crate) fn begin(node: &Arc<Node>, assignment: Assignment) {
    let node = Arc::clone(node);
    let tasks = node.tasks.clone();
    tasks.spawn_work("activity", async move {
        let mut next = Some(assignment);
        while let Some(assignment) = next {
            next = process::process(&node, assignment).await;
        }
        // A task of its own, because we may have begun others that stay with this thread.
        if let Some(next) = node.ahead.next(&node, None) {
            begin(&node, next);
        }
    });
}

async fn fetch(node: &Node, free: &[usize]) -> Result<Vec<FetchedWork>, ProviderError> {
    // At the limit, only activities without a session are taken.
    let with_sessions = !node.sessions.is_full();
    let slots: Vec<WorkSlot> = free
        .iter()
        .map(|slot| WorkSlot {
            session: with_sessions.then(|| SessionFetchConfig {
                owner_id: node.session_owner(*slot),
                lock_timeout: node.options.session_lock_timeout,
            }),
        })
        .collect();
    let request = WorkFetch {
        slots: &slots,
        lock_timeout: node.options.worker_lock_timeout,
        poll_timeout: node.options.dispatcher_long_poll_timeout,
        tag_filter: &node.options.worker_tag_filter,
    };
    node.provider.fetch_work_items(request).await
}
