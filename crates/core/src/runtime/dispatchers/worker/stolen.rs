//! Hears of activities that others have cancelled or taken.
//!
//! A turn of this node tells its activities itself. A turn of another node removes them from the
//! queue; whoever runs them would notice at the next renewal. A store that tells of such changes is
//! asked at once which leases are gone. While nothing changes or nothing runs, nothing is asked.

use std::sync::Arc;

use tracing::debug;

use crate::limits::LOST_LEASES_PAUSE;
use crate::providers::ChangeScope;
use crate::runtime::node::Node;

/// Listens until the node stops, if the store tells of changes.
pub(super) fn start(node: &Arc<Node>) {
    let listening = Arc::clone(node);
    node.tasks.supervise("listener for lost leases", move || listen(Arc::clone(&listening)));
}

async fn listen(node: Arc<Node>) {
    let Some(mut changes) = node.provider.watch(ChangeScope::WorkLocks) else { return };
    let mut heard = async || {
        changes.changed().await;
        tokio::time::sleep(LOST_LEASES_PAUSE).await;
    };
    while node.tasks.unless_stopped(heard()).await.is_some() {
        tell(&node).await;
    }
}

async fn tell(node: &Node) {
    let tokens = node.running.lock_tokens();
    if tokens.is_empty() {
        return;
    }
    match node.provider.find_lost_work_locks(&tokens).await {
        Ok(lost) => node.running.lose(&lost),
        Err(error) => {
            debug!(
                target: "duroxide::runtime", %error,
                "lost leases could not be looked for; their next renewal tells"
            );
        }
    }
}
