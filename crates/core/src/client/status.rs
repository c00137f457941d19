//! Where an instance stands.

use super::{Client, ClientError};
use crate::model::{Event, EventKind, OrchestrationStatus, SystemStats};
use crate::providers::{InstanceOutcome, InstanceStatus, ProviderError};

impl Client {
    /// Status of the latest execution, with the custom status.
    pub async fn get_orchestration_status(
        &self,
        instance: &str,
    ) -> Result<OrchestrationStatus, ClientError> {
        let status = self.provider().read_status(instance).await?;
        self.status_of(instance, status).await
    }

    /// The status that belongs to an outcome. Apart from reading the outcome, because a wait looks
    /// often and needs the custom status only in the end, if it did not come by itself.
    pub(super) async fn status_of(
        &self,
        instance: &str,
        status: InstanceStatus,
    ) -> Result<OrchestrationStatus, ClientError> {
        if status.outcome == InstanceOutcome::NotFound {
            return Ok(OrchestrationStatus::NotFound);
        }
        let (custom_status, custom_status_version) = match status.custom {
            Some(custom) => custom,
            None => self.custom_status(instance).await,
        };
        match status.outcome {
            InstanceOutcome::NotFound => Ok(OrchestrationStatus::NotFound),
            InstanceOutcome::Running => {
                Ok(OrchestrationStatus::Running { custom_status, custom_status_version })
            }
            InstanceOutcome::Ended(event) => {
                ended_status(*event, custom_status, custom_status_version)
            }
        }
    }

    /// Size of an instance; `None` if it is unknown.
    pub async fn get_orchestration_stats(
        &self,
        instance: &str,
    ) -> Result<Option<SystemStats>, ClientError> {
        Ok(self.provider().get_instance_stats(instance).await?)
    }

    /// The custom status is an extra: when it cannot be read, the status is still worth having.
    async fn custom_status(&self, instance: &str) -> (Option<String>, u64) {
        match self.provider().get_custom_status(instance, 0).await {
            Ok(found) => found.unwrap_or((None, 0)),
            Err(error) => {
                tracing::debug!(
                    target: "duroxide::client",
                    instance_id = instance,
                    %error,
                    "custom status cannot be read"
                );
                (None, 0)
            }
        }
    }
}

fn ended_status(
    event: Event,
    custom_status: Option<String>,
    custom_status_version: u64,
) -> Result<OrchestrationStatus, ClientError> {
    match event.kind {
        EventKind::OrchestrationCompleted { output } => {
            Ok(OrchestrationStatus::Completed { output, custom_status, custom_status_version })
        }
        EventKind::OrchestrationFailed { details } => {
            Ok(OrchestrationStatus::Failed { details, custom_status, custom_status_version })
        }
        // Not every variant by name: only a provider that breaks its promise gets here.
        other => Err(ProviderError::permanent(
            "read_outcome",
            format!("{} does not end an instance", other.type_tag()),
        )
        .into()),
    }
}
