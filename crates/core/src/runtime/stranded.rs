//! Warns of starts that no live node can run, such as one with a mistyped name.
//!
//! No node fetches such a start, so nothing else would mention it.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tracing::{debug, warn};

use super::node::Node;
use crate::client::is_stranded;
use crate::limits::{
    STRANDED_CHECK_INTERVAL, STRANDED_CHECK_PAGE, STRANDED_CHECK_PAGES_MAX,
    STRANDED_WARNING_INTERVAL, STRANDED_WARNINGS_MAX,
};
use crate::providers::{ListCursor, ProviderCapability, ProviderError, WaitingStartQuery};

/// Checks the waiting starts at an interval until the node stops, from when the node under the
/// name `node_id` is `announced` on.
pub(super) fn start(node: &Arc<Node>, node_id: String, announced: Arc<Notify>) {
    if !node.provider.capabilities().has(ProviderCapability::Workers) {
        return;
    }
    let kept = Arc::clone(node);
    let node_id = Arc::<str>::from(node_id);
    node.tasks.supervise("stranded starts", move || {
        keep(Arc::clone(&kept), Arc::clone(&node_id), Arc::clone(&announced))
    });
}

async fn keep(node: Arc<Node>, node_id: Arc<str>, announced: Arc<Notify>) {
    let mut pass = Pass::default();
    if node.tasks.unless_stopped(announced.notified()).await.is_none() {
        return;
    }
    // A task that is restarted after a panic does not wait for the next announcement.
    announced.notify_one();
    loop {
        match node.tasks.unless_stopped(pass.proceed(&node, &node_id)).await {
            None => return,
            Some(Ok(())) => {}
            Some(Err(error)) => debug!(
                target: "duroxide::runtime", %error,
                "could not check the waiting starts; retrying at the next interval"
            ),
        }
        if node.tasks.unless_stopped(sleep(STRANDED_CHECK_INTERVAL)).await.is_none() {
            return;
        }
    }
}

/// One pass through all waiting starts, which may take several checks.
#[derive(Default)]
struct Pass {
    after: Option<ListCursor>,
    /// Starts that no live node can run, up to `after`.
    stranded: u64,
    warnings: Warnings,
}

impl Pass {
    /// Checks a limited number of starts.
    async fn proceed(&mut self, node: &Node, node_id: &str) -> Result<(), ProviderError> {
        let Some(admin) = node.provider.as_management_capability() else { return Ok(()) };
        let mut warned = 0;
        for _page in 0..STRANDED_CHECK_PAGES_MAX {
            let mut query = WaitingStartQuery::new(STRANDED_CHECK_PAGE);
            query.after.clone_from(&self.after);
            let starts = admin.list_waiting_starts(query).await?;
            let Some(last) = starts.last() else {
                node.metrics().update_stranded_starts(self.stranded);
                (self.after, self.stranded) = (None, 0);
                return Ok(());
            };
            let nodes = admin.list_live_workers().await?;
            // A list without this node proves nothing: its announcement has failed.
            if !nodes.iter().any(|node| node.node_id == node_id) {
                return Ok(());
            }
            for start in starts.iter().filter(|start| is_stranded(start, &nodes)) {
                self.stranded += 1;
                let version = start.orchestration_version.as_deref().unwrap_or("any");
                let code = format!("{} {version}", start.orchestration_name);
                if warned < STRANDED_WARNINGS_MAX && self.warnings.is_due(code, Instant::now()) {
                    warned += 1;
                    warn!(
                        target: "duroxide::runtime",
                        instance_id = %start.instance_id,
                        orchestration_name = %start.orchestration_name,
                        orchestration_version = %version,
                        "no live node has registered this orchestration; the start waits for one"
                    );
                }
            }
            self.after = Some(last.cursor.clone());
        }
        Ok(())
    }
}

/// When the node last warned of each orchestration.
#[derive(Default)]
struct Warnings(HashMap<String, Instant>);

impl Warnings {
    /// Whether a warning of this code is due; it is then counted as written.
    fn is_due(&mut self, code: String, now: Instant) -> bool {
        self.0.retain(|_, written| now.duration_since(*written) < STRANDED_WARNING_INTERVAL);
        let is_new = !self.0.contains_key(&code);
        if is_new {
            self.0.insert(code, now);
        }
        is_new
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_name_is_warned_of_once_in_an_interval() {
        let mut warnings = Warnings::default();
        let start = Instant::now();
        let mut due = |code: &str, after| warnings.is_due(code.to_owned(), start + after);
        assert!(due("Odrer any", Duration::ZERO));
        assert!(!due("Odrer any", Duration::ZERO));
        assert!(due("Order 9.0.0", Duration::ZERO));
        let interval = STRANDED_WARNING_INTERVAL;
        assert!(!due("Odrer any", interval - Duration::from_millis(1)));
        assert!(due("Odrer any", interval));
        assert!(!due("Odrer any", interval));
    }
}
