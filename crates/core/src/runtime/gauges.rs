//! Gauges that the node reads from the store at an interval.

use std::sync::Arc;

use tracing::debug;

use super::node::Node;
use crate::limits::BACKGROUND_INTERVAL_MIN;
use crate::panics;
use crate::providers::ProviderError;

/// Reads the gauges, and updates them at an interval until the node stops. A store without a
/// management side has none.
///
/// Await this before the node takes its first turn: turns count up and down from the value that is
/// read here, and a later assignment would overwrite their counts.
pub(crate) async fn start(node: &Arc<Node>) {
    if node.provider.as_management_capability().is_none() {
        return;
    }
    refresh(node).await;
    let kept = Arc::clone(node);
    node.tasks.supervise("gauges", move || keep_up_to_date(Arc::clone(&kept)));
}

async fn keep_up_to_date(node: Arc<Node>) {
    let interval = node.options.observability.gauge_poll_interval.max(BACKGROUND_INTERVAL_MIN);
    while node.tasks.unless_stopped(tokio::time::sleep(interval)).await.is_some() {
        node.tasks.unless_stopped(refresh(&node)).await;
    }
}

async fn refresh(node: &Node) {
    let error = match panics::caught(read(node)).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic,
    };
    debug!(
        target: "duroxide::runtime", error,
        "could not read the gauges; retrying at the next interval"
    );
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
