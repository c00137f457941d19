//! Says which activities this node takes, so that work that nobody serves can be seen.

use std::sync::Arc;

use tokio::time::sleep;
use tracing::{debug, warn};

use super::node::Node;
use crate::limits::{WORKER_ANNOUNCEMENT_INTERVAL, WORKER_ANNOUNCEMENT_LIFETIME};
use crate::providers::WorkerAnnouncement;

/// Announces the node until it stops, unless it runs no activities.
pub(super) fn start(node: &Arc<Node>) {
    if node.options.worker_concurrency > 0 {
        let announced = Arc::clone(node);
        node.tasks.supervise("announcements", move || keep(Arc::clone(&announced)));
    }
}

async fn keep(node: Arc<Node>) {
    let announcement = announcement(&node);
    loop {
        if let Err(error) = node.provider.announce_worker(&announcement).await {
            warn!(target: "duroxide::runtime", %error, "the node could not be announced");
        }
        // A failed one is repeated in time too: a node outlives two missed announcements.
        if node.tasks.unless_stopped(sleep(WORKER_ANNOUNCEMENT_INTERVAL)).await.is_none() {
            break;
        }
    }
    if let Err(error) = node.provider.withdraw_worker(&announcement.node_id).await {
        debug!(target: "duroxide::runtime", %error, "the node will expire instead");
    }
}

fn announcement(node: &Node) -> WorkerAnnouncement {
    let mut activities = node.activities.list_names();
    activities.sort_unstable();
    WorkerAnnouncement {
        // Unique for each start: what a node of the same name left behind is not this node.
        node_id: match &node.options.worker_node_id {
            Some(name) => format!("{name}-{}", node.unique_id),
            None => node.unique_id.clone(),
        },
        tag_filter: node.options.worker_tag_filter.clone(),
        activities,
        expires_in: WORKER_ANNOUNCEMENT_LIFETIME,
    }
}
