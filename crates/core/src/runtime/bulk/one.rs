//! Acts on one instance.

use std::time::Duration;

use crate::client::bulk::{BulkAct, BulkResult};
use crate::client::{Client, ClientError, MendOptions, MendPlan};
use crate::limits::{BULK_ACT_ATTEMPTS_MAX, BULK_DETAIL_MAX, BULK_RETRY_PAUSE};
use crate::model::OrchestrationStatus;
use crate::providers::{ClientMessage, ProviderErrorKind, PruneOptions};

/// An act, and what it needs to know.
pub(super) struct Act<'a> {
    pub(super) client: &'a Client,
    /// The id of the act itself.
    pub(super) own_id: &'a str,
    pub(super) act: BulkAct,
    pub(super) reason: &'a str,
    /// An earlier attempt may have acted on the instance.
    pub(super) is_repeated: bool,
}

/// Acts on one instance, and says what became of it.
pub(super) async fn act_on(act: &Act<'_>, id: &str) -> (BulkResult, Option<String>) {
    if id == act.own_id {
        return (BulkResult::Failed, Some("an act does not concern itself".to_owned()));
    }
    let mut attempt = 1;
    loop {
        match perform(act, id).await {
            Ok(detail) => return (BulkResult::Done, detail),
            Err(error) if error.is_retryable() && attempt < BULK_ACT_ATTEMPTS_MAX => {
                tokio::time::sleep(BULK_RETRY_PAUSE * attempt).await;
                attempt += 1;
            }
            Err(error) => return failed(act, &error),
        }
    }
}

async fn perform(act: &Act<'_>, id: &str) -> Result<Option<String>, ClientError> {
    let Act { client, reason, .. } = *act;
    match act.act {
        BulkAct::Cancel | BulkAct::RequestCancellation { .. } if client.has_ended(id).await? => {
            Ok(Some("has_ended".to_owned()))
        }
        BulkAct::RequestCancellation { grace_ms } => {
            let grace = Duration::from_millis(grace_ms);
            client.request_cancellation(id, reason, grace).await.map(|()| None)
        }
        BulkAct::Cancel => {
            client.deliver(ClientMessage::cancellation(id, reason).to_existing()).await?;
            Ok(None)
        }
        BulkAct::Terminate => client.terminate_instance(id, reason).await.map(|()| None),
        BulkAct::Suspend => client.suspend_instance(id, reason).await.map(|()| None),
        BulkAct::Resume => resume(client, id).await,
        BulkAct::Retry => {
            let options = MendOptions::default().with_reason(reason);
            client.retry_instance(id, &options).await.map(|plan| Some(continues(&plan)))
        }
        BulkAct::Reset { to } => {
            let options = MendOptions::default().with_reason(reason);
            client.reset_instance(id, to, &options).await.map(|plan| Some(continues(&plan)))
        }
        BulkAct::Delete { force } => client.delete_instance(id, force).await.map(|_| None),
        BulkAct::Prune { keep_last, completed_before } => {
            client.get_instance_info(id).await?;
            let options = PruneOptions { keep_last, completed_before };
            let pruned = client.prune_executions(id, options).await?;
            Ok(Some(format!("pruned {} executions", pruned.executions_deleted)))
        }
    }
}

fn continues(plan: &MendPlan) -> String {
    format!("continues as execution {}", plan.new_execution_id)
}

async fn resume(client: &Client, id: &str) -> Result<Option<String>, ClientError> {
    if client.resume_instance(id).await? {
        return Ok(None);
    }
    match client.get_orchestration_status(id).await? {
        OrchestrationStatus::NotFound => {
            Err(ClientError::InstanceNotFound { instance_id: id.to_owned() })
        }
        OrchestrationStatus::Running { .. }
        | OrchestrationStatus::Completed { .. }
        | OrchestrationStatus::Failed { .. } => Ok(Some("not_suspended".to_owned())),
    }
}

fn failed(act: &Act<'_>, error: &ClientError) -> (BulkResult, Option<String>) {
    let is_missing = match error {
        ClientError::InstanceNotFound { .. } => true,
        ClientError::Provider(error) => error.kind == ProviderErrorKind::NotFound,
        ClientError::ManagementNotAvailable
        | ClientError::InvalidInput { .. }
        | ClientError::Timeout
        | ClientError::InstanceStillRunning { .. }
        | ClientError::CannotDeleteSubOrchestration { .. } => false,
    };
    // The attempt before has deleted it.
    if is_missing && act.is_repeated && matches!(act.act, BulkAct::Delete { .. }) {
        return (BulkResult::Done, None);
    }
    let result = if is_missing { BulkResult::NotFound } else { BulkResult::Failed };
    (result, Some(reason(error).chars().take(BULK_DETAIL_MAX).collect()))
}

/// Why, for operators: the method of the store that refused is of no use to them.
fn reason(error: &ClientError) -> String {
    match error {
        ClientError::Provider(error) => error.message.clone(),
        ClientError::InstanceNotFound { .. }
        | ClientError::ManagementNotAvailable
        | ClientError::InvalidInput { .. }
        | ClientError::Timeout
        | ClientError::InstanceStillRunning { .. }
        | ClientError::CannotDeleteSubOrchestration { .. } => error.to_string(),
    }
}
