//! Gauges that the node reads from the store at an interval.

use std::sync::Arc;

use tracing::debug;

use super::node::Node;
use crate::limits::BACKGROUND_INTERVAL_MIN;
use crate::panics;
use crate::providers::ProviderError;

/// How often one refresh reads again because instances started or ended meanwhile.
const READS_MAX: usize = 3;

/// Reads the gauges in the background, and again at an interval until the node stops. No turn waits
/// for them. A store without a management side has none.
pub(crate) fn start(node: &Arc<Node>) {
    if node.provider.as_management_capability().is_none() {
        return;
    }
    let kept = Arc::clone(node);
    node.tasks.supervise("gauges", move || keep_up_to_date(Arc::clone(&kept)));
}

async fn keep_up_to_date(node: Arc<Node>) {
    let interval = node.options.observability.gauge_poll_interval.max(BACKGROUND_INTERVAL_MIN);
    while node.tasks.unless_stopped(refresh(&node)).await.is_some()
        && node.tasks.unless_stopped(tokio::time::sleep(interval)).await.is_some()
    {}
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
    let metrics = node.metrics();
    let mut counted = metrics.get_active_orchestrations();
    let mut gauges = admin.read_gauges().await?;
    // Turns count up and down. What they count while the store is read may be in both numbers.
    for _ in 1..READS_MAX {
        let now = metrics.get_active_orchestrations();
        if now == counted {
            break;
        }
        counted = now;
        gauges = admin.read_gauges().await?;
    }
    metrics.set_active_orchestrations(i64::try_from(gauges.running_instances).unwrap_or(i64::MAX));
    metrics.update_queue_depths(gauges.ready_messages, gauges.activities);
    metrics.update_waiting_messages(gauges.delayed_messages, gauges.parked_messages);
    metrics.update_suspended_instances(gauges.suspended_instances);
    Ok(())
}
