//! Keeps the sessions of this node, and sweeps those that nobody keeps.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::{debug, warn};

use crate::limits::BACKGROUND_INTERVAL_MIN;
use crate::runtime::node::Node;
use crate::runtime::options::lease_renewal_interval;

/// Renews and sweeps until the node stops.
pub(super) fn start(node: &Arc<Node>) {
    let kept = Arc::clone(node);
    node.tasks.supervise("keeper of sessions", move || keep(Arc::clone(&kept)));
}

async fn keep(node: Arc<Node>) {
    let interval = lease_renewal_interval(node.options.session_lock_timeout);
    let mut swept = Instant::now();
    loop {
        let pause = interval
            .min(node.options.session_cleanup_interval)
            .max(BACKGROUND_INTERVAL_MIN.min(interval));
        if node.tasks.unless_stopped(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
        renew(&node).await;
        if swept.elapsed() >= node.options.session_cleanup_interval {
            swept = Instant::now();
            sweep(&node).await;
        }
    }
}

async fn renew(node: &Node) {
    let owners: Vec<String> = match &node.options.worker_node_id {
        Some(owner) => vec![owner.clone()],
        None => (0..node.options.worker_concurrency).map(|slot| node.session_owner(slot)).collect(),
    };
    let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
    let options = &node.options;
    let renewed = node
        .provider
        .renew_session_lock(&owners, options.session_lock_timeout, options.session_idle_timeout)
        .await;
    if let Err(error) = renewed {
        warn!(target: "duroxide::runtime", %error, "sessions could not be renewed");
    }
}

async fn sweep(node: &Node) {
    let idle = node.options.session_idle_timeout;
    match node.provider.cleanup_orphaned_sessions(idle).await {
        Ok(0) => {}
        Ok(removed) => debug!(target: "duroxide::runtime", removed, "orphaned sessions removed"),
        Err(error) => {
            warn!(target: "duroxide::runtime", %error, "orphaned sessions could not be removed");
        }
    }
}
