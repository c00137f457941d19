//! Renews the sessions of this node, and removes orphaned ones.

use std::sync::Arc;

use tokio::time::Instant;
use tracing::{debug, warn};

use crate::limits::BACKGROUND_INTERVAL_MIN;
use crate::runtime::activities::Activities;
use crate::runtime::options::lease_renewal_interval;

/// Renews and removes until the node stops.
pub(super) fn start(activities: &Arc<Activities>) {
    let kept = Arc::clone(activities);
    let node = &activities.node;
    let _on_the_thread = node.background.enter();
    node.tasks.supervise("session renewal", move || keep(Arc::clone(&kept)));
}

async fn keep(activities: Arc<Activities>) {
    let node = &activities.node;
    let interval = lease_renewal_interval(node.options.session_lock_timeout);
    let mut swept = Instant::now();
    loop {
        let pause = interval
            .min(node.options.session_cleanup_interval)
            .max(BACKGROUND_INTERVAL_MIN.min(interval));
        if node.tasks.unless_stopped(tokio::time::sleep(pause)).await.is_none() {
            return;
        }
        renew(&activities).await;
        if swept.elapsed() >= node.options.session_cleanup_interval {
            swept = Instant::now();
            remove_orphaned(&activities).await;
        }
    }
}

async fn renew(activities: &Activities) {
    let node = &activities.node;
    let owners: Vec<String> = match &node.options.worker_node_id {
        Some(owner) => vec![owner.clone()],
        None => {
            let slots = 0..node.options.worker_concurrency;
            slots.map(|slot| activities.session_owner(slot)).collect()
        }
    };
    let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
    let options = &node.options;
    let (length, idle) = (options.session_lock_timeout, options.session_idle_timeout);
    let renewed = node.provider.renew_session_lock(&owners, length, idle);
    if let Err(error) = node.background.call(renewed).await {
        warn!(
            target: "duroxide::runtime", %error,
            "could not renew the sessions; retrying at the next interval"
        );
    }
}

async fn remove_orphaned(activities: &Activities) {
    let node = &activities.node;
    let idle = node.options.session_idle_timeout;
    match node.background.call(node.provider.cleanup_orphaned_sessions(idle)).await {
        Ok(0) => {}
        Ok(removed) => debug!(target: "duroxide::runtime", removed, "removed orphaned sessions"),
        Err(error) => {
            warn!(
                target: "duroxide::runtime", %error,
                "could not remove orphaned sessions; retrying later"
            );
        }
    }
}
