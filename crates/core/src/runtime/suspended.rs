//! Instances that replay suspended get a turn when a node starts: it may have other code.

use std::sync::Arc;

use tracing::{debug, info};

use super::node::Node;
use super::storage_retry::retry_for_ever;
use crate::providers::ProviderCapability;

/// Makes suspended instances take their next turn, once, in the background.
pub(crate) fn start(node: &Arc<Node>) {
    if !node.provider.capabilities().has(ProviderCapability::Suspension) {
        return;
    }
    let starting = Arc::clone(node);
    node.tasks.spawn(async move {
        let retried = retry_for_ever("retry_suspended", || starting.provider.retry_suspended());
        match starting.tasks.unless_stopped(retried).await {
            Some(Ok(instances)) if instances > 0 => info!(
                target: "duroxide::runtime", instances,
                "retrying instances that were suspended because of other code"
            ),
            Some(Err(error)) => debug!(
                target: "duroxide::runtime", %error,
                "could not retry suspended instances; they retry by themselves"
            ),
            Some(Ok(_)) | None => {}
        }
    });
}
