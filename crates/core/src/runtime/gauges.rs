//! Gauges that are read from the store from time to time.

use std::sync::Arc;

use tracing::debug;

use super::node::Node;
use crate::providers::ProviderError;

/// Keeps the gauges up to date until the node stops. A store without a management side has none.
pub(crate) fn start(node: &Arc<Node>) {
    if node.provider.as_management_capability().is_none() {
        return;
    }
    let node = Arc::clone(node);
    let tasks = node.tasks.clone();
    tasks.spawn(async move {
        loop {
            let interval = node.options.observability.gauge_poll_interval;
            if let Some(Err(error)) = node.tasks.unless_stopped(read(&node)).await {
                debug!(target: "duroxide::runtime", %error, "gauges could not be read");
            }
            let sleep = tokio::time::sleep(interval);
            if node.tasks.unless_stopped(sleep).await.is_none() {
                return;
            }
        }
    });
}

async fn read(node: &Node) -> Result<(), ProviderError> {
    let Some(admin) = node.provider.as_management_capability() else { return Ok(()) };
    let metrics = admin.get_system_metrics().await?;
    let running = i64::try_from(metrics.running_instances).unwrap_or(i64::MAX);
    node.metrics().set_active_orchestrations(running);
    let depths = admin.get_queue_depths().await?;
    node.metrics()
        .update_queue_depths(depths.orchestrator_queue as u64, depths.worker_queue as u64);
    Ok(())
}
