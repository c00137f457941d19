//! Removing what is no longer needed.

use super::{Client, ClientError};
use crate::providers::{
    DeleteInstanceResult, InstanceFilter, ProviderError, ProviderErrorKind, PruneOptions,
    PruneResult,
};

impl Client {
    /// Deletes a root instance with its whole tree, all or nothing. A running instance of the tree
    /// is refused without `force`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// match client.delete_instance("order-7", false).await {
    ///     Ok(deleted) => println!("{} events deleted", deleted.events_deleted),
    ///     Err(ClientError::InstanceStillRunning { .. }) => println!("cancel it first"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete_instance(
        &self,
        instance: &str,
        force: bool,
    ) -> Result<DeleteInstanceResult, ClientError> {
        let result = self
            .admin()?
            .delete_instance(instance, force)
            .await
            .map_err(|error| refused_deletion(instance, error))?;
        log_deletion("instance deleted", Some(instance), &result);
        Ok(result)
    }

    /// Deletes finished root instances with their trees; running ones are left alone.
    ///
    /// One call deletes at most [`limit`](InstanceFilter::limit) roots, 1000 if there is none, and
    /// says how many it deleted. To delete all, call it until it deletes nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::providers::InstanceFilter;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// // What completed before 2025, at most 1000 instances a call.
    /// let completed_before = Some(1_735_689_600_000);
    /// let filter = InstanceFilter { completed_before, limit: Some(1000), instance_ids: None };
    /// let deleted = client.delete_instance_bulk(filter).await?;
    /// println!("{} instances deleted", deleted.instances_deleted);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn delete_instance_bulk(
        &self,
        filter: InstanceFilter,
    ) -> Result<DeleteInstanceResult, ClientError> {
        let result = self.admin()?.delete_instance_bulk(filter).await?;
        log_deletion("instances deleted", None, &result);
        Ok(result)
    }

    /// Deletes old executions of one instance, never its current one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// use duroxide::providers::PruneOptions;
    ///
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let options = PruneOptions { keep_last: Some(3), ..PruneOptions::default() };
    /// let pruned = client.prune_executions("order-7", options).await?;
    /// println!("{} executions deleted", pruned.executions_deleted);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn prune_executions(
        &self,
        instance: &str,
        options: PruneOptions,
    ) -> Result<PruneResult, ClientError> {
        let result = self.admin()?.prune_executions(instance, options).await?;
        log_pruning(Some(instance), &result);
        Ok(result)
    }

    /// Deletes old executions of many instances, never their current ones.
    pub async fn prune_executions_bulk(
        &self,
        filter: InstanceFilter,
        options: PruneOptions,
    ) -> Result<PruneResult, ClientError> {
        let result = self.admin()?.prune_executions_bulk(filter, options).await?;
        log_pruning(None, &result);
        Ok(result)
    }
}

/// Gives callers a variant of the client's own error to match on.
fn refused_deletion(instance: &str, error: ProviderError) -> ClientError {
    let instance_id = instance.to_owned();
    match error.kind {
        ProviderErrorKind::NotFound => ClientError::InstanceNotFound { instance_id },
        ProviderErrorKind::StillRunning => ClientError::InstanceStillRunning { instance_id },
        ProviderErrorKind::NotRoot => ClientError::CannotDeleteSubOrchestration { instance_id },
        ProviderErrorKind::LostLease
        | ProviderErrorKind::Conflict
        | ProviderErrorKind::TooLarge
        | ProviderErrorKind::Undecodable
        | ProviderErrorKind::Busy
        | ProviderErrorKind::Unavailable
        | ProviderErrorKind::Schema
        | ProviderErrorKind::Other => ClientError::Provider(error),
    }
}

fn log_deletion(message: &str, instance_id: Option<&str>, result: &DeleteInstanceResult) {
    tracing::info!(
        target: "duroxide::client",
        instance_id,
        instances_deleted = result.instances_deleted,
        executions_deleted = result.executions_deleted,
        events_deleted = result.events_deleted,
        queue_messages_deleted = result.queue_messages_deleted,
        "{message}"
    );
}

fn log_pruning(instance_id: Option<&str>, result: &PruneResult) {
    tracing::info!(
        target: "duroxide::client",
        instance_id,
        instances_processed = result.instances_processed,
        executions_deleted = result.executions_deleted,
        events_deleted = result.events_deleted,
        "executions pruned"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observability::capture::captured;

    fn refusal(kind: ProviderErrorKind, message: &str) -> ClientError {
        let error = ProviderError::permanent("delete_instance", message).with_kind(kind);
        refused_deletion("a", error)
    }

    #[test]
    fn refusals_are_distinguished_by_their_kind() {
        assert!(matches!(
            refusal(ProviderErrorKind::NotFound, "unknown"),
            ClientError::InstanceNotFound { instance_id } if instance_id == "a"
        ));
        assert!(matches!(
            refusal(ProviderErrorKind::StillRunning, "not finished"),
            ClientError::InstanceStillRunning { instance_id } if instance_id == "a"
        ));
        assert!(matches!(
            refusal(ProviderErrorKind::NotRoot, "it has a parent"),
            ClientError::CannotDeleteSubOrchestration { instance_id } if instance_id == "a"
        ));
    }

    #[test]
    fn other_errors_stay_what_they_are() {
        for text in ["disk full", "the file was not found"] {
            assert!(matches!(
                refusal(ProviderErrorKind::Other, text),
                ClientError::Provider(error) if error.message == text
            ));
        }
    }

    #[test]
    fn each_removal_logs_one_line_with_its_counts() {
        let lines = captured(|| {
            let deleted = DeleteInstanceResult {
                instances_deleted: 1,
                executions_deleted: 2,
                events_deleted: 3,
                queue_messages_deleted: 4,
            };
            log_deletion("instance deleted", Some("a"), &deleted);
            let pruned =
                PruneResult { instances_processed: 5, executions_deleted: 6, events_deleted: 7 };
            log_pruning(None, &pruned);
        });
        assert_eq!(lines.len(), 2);
        for field in [
            "\"level\":\"INFO\"",
            "\"instance_id\":\"a\"",
            "\"instances_deleted\":1",
            "\"executions_deleted\":2",
            "\"events_deleted\":3",
            "\"queue_messages_deleted\":4",
        ] {
            assert!(lines[0].contains(field), "{field} is missing in {}", lines[0]);
        }
        for field in
            ["\"instances_processed\":5", "\"executions_deleted\":6", "\"events_deleted\":7"]
        {
            assert!(lines[1].contains(field), "{field} is missing in {}", lines[1]);
        }
        assert!(!lines[1].contains("instance_id"), "many instances have no id: {}", lines[1]);
    }
}
