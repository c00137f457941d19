//! Where an instance stands.

use super::{Client, ClientError};
use crate::model::{Event, EventKind, OrchestrationStatus, SystemStats};
use crate::providers::{InstanceOutcome, InstanceStatus, ProviderError};

impl Client {
    /// Status of the latest execution, with the custom status.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::OrchestrationStatus;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// match client.get_orchestration_status("order-7").await? {
    ///     OrchestrationStatus::NotFound => println!("unknown"),
    ///     OrchestrationStatus::Running { custom_status, .. } => println!("{custom_status:?}"),
    ///     OrchestrationStatus::Completed { output, .. } => println!("completed: {output}"),
    ///     OrchestrationStatus::Failed { details, .. } => println!("failed: {details:?}"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_orchestration_status(
        &self,
        instance: &str,
    ) -> Result<OrchestrationStatus, ClientError> {
        status_of(self.provider().read_status(instance).await?)
    }

    /// Size of an instance; `None` if it is unknown.
    pub async fn get_orchestration_stats(
        &self,
        instance: &str,
    ) -> Result<Option<SystemStats>, ClientError> {
        Ok(self.provider().get_instance_stats(instance).await?)
    }
}

/// The status as the public API returns it.
pub(super) fn status_of(status: InstanceStatus) -> Result<OrchestrationStatus, ClientError> {
    let InstanceStatus { outcome, custom_status, custom_status_version } = status;
    match outcome {
        InstanceOutcome::NotFound => Ok(OrchestrationStatus::NotFound),
        InstanceOutcome::Running => {
            Ok(OrchestrationStatus::Running { custom_status, custom_status_version })
        }
        InstanceOutcome::Ended(event) => ended_status(*event, custom_status, custom_status_version),
    }
}

fn ended_status(
    event: Event,
    custom_status: Option<String>,
    custom_status_version: u64,
) -> Result<OrchestrationStatus, ClientError> {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "only a provider that breaks its promise returns another event"
    )]
    match event.kind {
        EventKind::OrchestrationCompleted { output } => {
            Ok(OrchestrationStatus::Completed { output, custom_status, custom_status_version })
        }
        EventKind::OrchestrationFailed { details } => {
            Ok(OrchestrationStatus::Failed { details, custom_status, custom_status_version })
        }
        other => Err(ProviderError::permanent(
            "read_status",
            format!("{} does not end an instance", other.type_tag()),
        )
        .into()),
    }
}
