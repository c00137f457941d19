//! Whether an instance exists, also if its start still waits in the queue.

use duroxide::client::UnstartedInstance;
use duroxide::providers::ProviderErrorKind;
use duroxide::runtime::OrchestrationStatus;
use duroxide::{Client, ClientError};

use crate::failure::Failure;
use crate::output::shell_word;

/// An instance that exists.
#[derive(Debug)]
pub(crate) enum Known {
    /// It has taken a turn.
    Started(OrchestrationStatus),
    /// It has taken a turn, and its history cannot be read: why.
    Unreadable(String),
    /// Its start waits.
    Unstarted(UnstartedInstance),
}

/// Finds an instance.
///
/// # Errors
/// `InstanceNotFound` if there is none.
pub(crate) async fn require(client: &Client, id: &str) -> Result<Known, ClientError> {
    match client.get_orchestration_status(id).await {
        Ok(OrchestrationStatus::NotFound) => match client.explain_unstarted(id).await? {
            Some(unstarted) => Ok(Known::Unstarted(unstarted)),
            None => {
                client.get_instance_info(id).await?;
                Ok(Known::Unreadable("it has no events".to_owned()))
            }
        },
        Ok(
            status @ (OrchestrationStatus::Running { .. }
            | OrchestrationStatus::Completed { .. }
            | OrchestrationStatus::Failed { .. }),
        ) => Ok(Known::Started(status)),
        Err(ClientError::Provider(error)) if error.kind == ProviderErrorKind::Undecodable => {
            Ok(Known::Unreadable(error.message))
        }
        Err(error) => Err(error),
    }
}

/// Refuses an instance that has ended: what is sent to it is lost.
pub(crate) async fn require_open(client: &Client, id: &str, sent: &str) -> Result<(), Failure> {
    let ended = match require(client, id).await? {
        Known::Started(OrchestrationStatus::Completed { .. }) => "completed",
        Known::Started(OrchestrationStatus::Failed { .. }) => "failed",
        Known::Started(OrchestrationStatus::Running { .. } | OrchestrationStatus::NotFound)
        | Known::Unreadable(_)
        | Known::Unstarted(_) => return Ok(()),
    };
    let word = shell_word(id);
    Err(Failure::error(format!(
        "instance '{id}' has {ended}, and the {sent} would be lost: see `duroxide show {word}`"
    )))
}
