//! Announces which activities this node serves, so that clients can find work that no node serves.

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
        let _on_the_thread = node.background.enter();
        node.tasks.supervise("announcements", move || keep(Arc::clone(&announced)));
    }
}

async fn keep(node: Arc<Node>) {
    let announcement = announcement(&node);
    loop {
        let announced = node.provider.announce_worker(&announcement);
        if let Err(error) = node.background.call(announced).await {
            warn!(
                target: "duroxide::runtime", %error,
                "could not announce the node; retrying at the next interval"
            );
        }
        // Also after a failure: an announcement stays valid while two in a row fail.
        if node.tasks.unless_stopped(sleep(WORKER_ANNOUNCEMENT_INTERVAL)).await.is_none() {
            break;
        }
    }
    let withdrawn = node.provider.withdraw_worker(&announcement.node_id);
    if let Err(error) = node.background.call(withdrawn).await {
        debug!(
            target: "duroxide::runtime", %error,
            "could not withdraw the announcement of the node; it will expire"
        );
    }
}

fn announcement(node: &Node) -> WorkerAnnouncement {
    let mut activities = node.handlers.activity_names();
    activities.sort_unstable();
    // Unique for each start, so that it never matches what an earlier node of this name left
    // behind.
    let node_id = match &node.options.worker_node_id {
        Some(name) => format!("{name}-{}", node.unique_id),
        None => node.unique_id.clone(),
    };
    WorkerAnnouncement::new(node_id, WORKER_ANNOUNCEMENT_LIFETIME)
        .with_tag_filter(node.options.worker_tag_filter.clone())
        .with_activities(activities)
}
