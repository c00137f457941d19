//! Fetches activities for the free slots.

use std::sync::Arc;

use tokio::time::Instant;

use super::{process, sessions};
use crate::model::WorkItem;
use crate::providers::{
    ChangeScope, FetchedWork, ProviderError, SessionFetchConfig, WorkFetch, WorkSlot,
};
use crate::runtime::dispatchers::pacing::Pacing;
use crate::runtime::node::Node;
use crate::runtime::slots::{Slot, Slots};

/// Starts the dispatcher and the keeper of its sessions, unless the node runs no activities.
pub(crate) fn start(node: &Arc<Node>) {
    if node.options.worker_concurrency == 0 {
        return;
    }
    node.tasks.spawn(dispatch(Arc::clone(node)));
    sessions::start(node);
}

async fn dispatch(node: Arc<Node>) {
    let slots = Slots::new(node.options.worker_concurrency);
    let mut pacing = Pacing::new("worker", node.options.dispatcher_min_poll_interval);
    // All free slots are offered: a session is served by none but the slot that owns it.
    let slots_max = node.options.worker_concurrency;
    while let Some(free) = node.tasks.unless_stopped(slots.take(slots_max)).await {
        let asked = Instant::now();
        let changes = node.provider.watch(ChangeScope::WorkerQueue);
        let fetched = tokio::select! {
            biased;
            fetched = node.tasks.unless_stopped(fetch(&node, &free)) => fetched,
            // The slot that owns a session is free only now, or there is room for one more: a wait
            // that began without it would not see the session's next activity.
            () = node.sessions.freed() => continue,
        };
        let Some(fetched) = fetched else { return };
        match fetched {
            Ok(work) if work.is_empty() => {
                pacing.succeeded();
                drop(free);
                pacing.idle(asked, changes, &node.tasks).await;
            }
            Ok(work) => {
                pacing.succeeded();
                node.metrics().record_worker_dispatcher_items_fetched(work.len() as u64);
                hand_out(&node, free, work);
            }
            Err(error) => {
                drop(free);
                pacing.failed(&error, &node.tasks).await;
            }
        }
    }
}

/// Runs each activity in the slot that it was fetched for.
fn hand_out(node: &Arc<Node>, free: Vec<Slot>, work: Vec<FetchedWork>) {
    let mut free: Vec<Option<Slot>> = free.into_iter().map(Some).collect();
    for fetched in work {
        let slot = free.get_mut(fetched.slot).and_then(Option::take);
        let index = slot.as_ref().map_or(fetched.slot, |slot| slot.index);
        let node = Arc::clone(node);
        let tasks = node.tasks.clone();
        let has_session =
            matches!(fetched.item, WorkItem::ActivityExecute { session_id: Some(_), .. });
        tasks.spawn(async move {
            process::process(&node, index, fetched).await;
            drop(slot);
            if has_session {
                node.sessions.note_freed();
            }
        });
    }
}

async fn fetch(node: &Node, free: &[Slot]) -> Result<Vec<FetchedWork>, ProviderError> {
    // At the limit, only activities without a session are taken.
    let with_sessions = !node.sessions.is_full();
    let slots: Vec<WorkSlot> = free
        .iter()
        .map(|slot| WorkSlot {
            session: with_sessions.then(|| SessionFetchConfig {
                owner_id: node.session_owner(slot.index),
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
