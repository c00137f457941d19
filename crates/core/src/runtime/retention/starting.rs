//! Starts the instance of the retention, if the node has a policy.

use std::sync::Arc;

use tracing::{debug, warn};

use super::code::RETENTION;
use crate::client::{Client, ClientError, StartRequest};
use crate::limits::RETENTION_RETRY_MIN;
use crate::model::OrchestrationStatus;
use crate::providers::ProviderCapability;
use crate::runtime::node::Node;

/// Starts it in the background, once for all nodes.
pub(crate) fn start(node: &Arc<Node>) {
    if node.options.retention.is_none() {
        return;
    }
    let starting = Arc::clone(node);
    node.tasks.spawn(async move {
        let client = Client::new(Arc::clone(&starting.provider));
        loop {
            match ensure(&client, starting.provider.capabilities().has(NEW_STARTS)).await {
                Ok(()) => return,
                Err(error) if error.is_retryable() => debug!(
                    target: "duroxide::runtime", %error,
                    "could not start the retention; trying again"
                ),
                Err(error) => {
                    warn!(
                        target: "duroxide::runtime", %error,
                        "could not start the retention; nothing is deleted by it"
                    );
                    return;
                }
            }
            let pause = tokio::time::sleep(RETENTION_RETRY_MIN);
            if starting.tasks.unless_stopped(pause).await.is_none() {
                return;
            }
        }
    });
}

const NEW_STARTS: ProviderCapability = ProviderCapability::NewStarts;

/// The instance runs for ever. If an operator has ended it, it begins again.
async fn ensure(client: &Client, starts_once: bool) -> Result<(), ClientError> {
    match client.get_orchestration_status(RETENTION).await? {
        OrchestrationStatus::Running { .. } => return Ok(()),
        OrchestrationStatus::Completed { .. } | OrchestrationStatus::Failed { .. } => {
            match client.delete_instance(RETENTION, false).await {
                // Another node may have been faster.
                Ok(_)
                | Err(
                    ClientError::InstanceNotFound { .. } | ClientError::InstanceStillRunning { .. },
                ) => {}
                Err(error) => return Err(error),
            }
        }
        OrchestrationStatus::NotFound => {}
    }
    if !starts_once {
        return client.start_orchestration(RETENTION, RETENTION, "0").await;
    }
    let start = StartRequest::new(RETENTION, RETENTION).with_input("0");
    client.start_if_new(start).await.map(drop)
}
