//! Announces which turns and activities this node runs, so that work that no node runs is found.

use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::sleep;
use tracing::{debug, warn};

use super::fast_path::FastPath;
use super::node::{Node, replay_ranges};
use super::stranded;
use crate::limits::{WORKER_ANNOUNCEMENT_INTERVAL, WORKER_ANNOUNCEMENT_LIFETIME};
use crate::providers::{AnnouncedTurns, TagFilter, WorkerAnnouncement, current_build_version};

/// Announces the node until it stops, unless it runs nothing.
pub(super) fn start(fast_path: &Arc<FastPath>) {
    let node = &fast_path.turns().node;
    if node.options.worker_concurrency == 0 && node.options.orchestration_concurrency == 0 {
        return;
    }
    let announced = Arc::new(Notify::new());
    stranded::start(fast_path, Arc::clone(&announced));
    let kept = Arc::clone(node);
    let _on_the_thread = node.background.enter();
    node.tasks.supervise("announcements", move || keep(Arc::clone(&kept), Arc::clone(&announced)));
}

async fn keep(node: Arc<Node>, announced: Arc<Notify>) {
    let announcement = announcement(&node);
    loop {
        let announcing = node.provider.announce_worker(&announcement);
        match node.background.call(announcing).await {
            Ok(()) => announced.notify_one(),
            Err(error) => warn!(
                target: "duroxide::runtime", %error,
                "could not announce the node; retrying at the next interval"
            ),
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
    let (tags, mut activities) = match node.options.worker_concurrency {
        0 => (TagFilter::None, Vec::new()),
        _ => (node.options.worker_tag_filter.clone(), node.handlers.activity_names()),
    };
    activities.sort_unstable();
    WorkerAnnouncement::new(node_id(node), WORKER_ANNOUNCEMENT_LIFETIME)
        .with_tag_filter(tags)
        .with_activities(activities)
        .with_turns(turns(node))
}

fn turns(node: &Node) -> AnnouncedTurns {
    let turns = AnnouncedTurns::none(current_build_version());
    if node.options.orchestration_concurrency == 0 {
        return turns;
    }
    // Also if the node fetches what it lacks: it cannot run that.
    turns
        .with_replays(replay_ranges(&node.options))
        .with_orchestrations(node.handlers.registered_orchestrations())
}

/// Unique for each start, so that it never matches what an earlier node of this name left behind.
pub(super) fn node_id(node: &Node) -> String {
    match &node.options.worker_node_id {
        Some(name) => format!("{name}-{}", node.unique_id),
        None => node.unique_id.clone(),
    }
}
