//! Releases what the node holds when it stops, so that other nodes get it at once.

use tokio::time::Instant;
use tracing::debug;

use super::FastPath;

impl FastPath {
    /// Releases the leases of aborted work, of activities that wait for a slot, and of sessions.
    /// Nothing of this counts as an attempt. No task of the node may run any more.
    pub(crate) async fn release_all(&self) {
        // First: the release of an activity wakes other nodes, which then find its session free.
        self.release_sessions().await;
        self.release_late(Instant::now()).await;
        self.node().leases.release_dropped().await;
    }

    /// The owners of sessions are unique to this start of the node and never come back, unless the
    /// node has a name.
    async fn release_sessions(&self) {
        let options = &self.node().options;
        if options.worker_node_id.is_some() || !self.activities.slots.own_sessions() {
            return;
        }
        let owners: Vec<String> = (0..options.worker_concurrency)
            .map(|slot| self.activities.session_owner(slot))
            .collect();
        let owners: Vec<&str> = owners.iter().map(String::as_str).collect();
        // A lease that lasts for no time from now on has expired.
        let (length, idle) = (std::time::Duration::ZERO, options.session_idle_timeout);
        let released = self.node().provider.renew_session_lock(&owners, length, idle).await;
        if let Err(error) = released {
            debug!(
                target: "duroxide::runtime", %error,
                "could not release the sessions; their leases will expire"
            );
        }
    }
}
