//! Looking at instances through the management side of the provider.

use std::collections::BTreeMap;

use super::{Client, ClientError};
use crate::model::{Event, ExecutionStatus};
use crate::providers::{
    ExecutionInfo, HandlerVersionSpread, InstanceInfo, InstanceTree, ParkedMessage,
    ProviderErrorKind, QueueDepths, StoreGauges, SystemMetrics,
};

impl Client {
    /// All instances, newest first.
    pub async fn list_all_instances(&self) -> Result<Vec<String>, ClientError> {
        Ok(self.admin()?.list_instances().await?)
    }

    /// Instances whose current execution has this status, newest first: `Running`, `Completed`,
    /// `Failed` or `ContinuedAsNew`. Any other text is an error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// for instance in client.list_instances_by_status("Failed").await? {
    ///     let info = client.get_instance_info(&instance).await?;
    ///     println!("{instance}: {} {:?}", info.orchestration_name, info.output);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn list_instances_by_status(&self, status: &str) -> Result<Vec<String>, ClientError> {
        if ExecutionStatus::parse(status).is_none() {
            return Err(ClientError::InvalidInput {
                message: format!(
                    "there is no status '{status}': use {}",
                    ExecutionStatus::ALL.map(ExecutionStatus::as_str).join(", ")
                ),
            });
        }
        Ok(self.admin()?.list_instances_by_status(status).await?)
    }

    /// One instance; [`ClientError::InstanceNotFound`] if it is unknown.
    pub async fn get_instance_info(&self, instance: &str) -> Result<InstanceInfo, ClientError> {
        self.admin()?.get_instance_info(instance).await.map_err(|error| {
            if error.kind == ProviderErrorKind::NotFound {
                return ClientError::InstanceNotFound { instance_id: instance.to_owned() };
            }
            error.into()
        })
    }

    /// One execution; an error if it is unknown.
    pub async fn get_execution_info(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<ExecutionInfo, ClientError> {
        Ok(self.admin()?.get_execution_info(instance, execution_id).await?)
    }

    /// Executions of an instance, ascending; empty if it is unknown.
    pub async fn list_executions(&self, instance: &str) -> Result<Vec<u64>, ClientError> {
        Ok(self.admin()?.list_executions(instance).await?)
    }

    /// History of one execution; empty if it is unknown.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// for execution in client.list_executions("order-7").await? {
    ///     for event in client.read_execution_history("order-7", execution).await? {
    ///         println!("{} {:?}", event.event_id, event.kind);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_execution_history(
        &self,
        instance: &str,
        execution_id: u64,
    ) -> Result<Vec<Event>, ClientError> {
        Ok(self.admin()?.read_history_with_execution_id(instance, execution_id).await?)
    }

    /// Totals over the store.
    pub async fn get_system_metrics(&self) -> Result<SystemMetrics, ClientError> {
        Ok(self.admin()?.get_system_metrics().await?)
    }

    /// Messages waiting in the queues.
    pub async fn get_queue_depths(&self) -> Result<QueueDepths, ClientError> {
        Ok(self.admin()?.get_queue_depths().await?)
    }

    /// Gauges of the store, which cost little: they do not read what has ended, and stop to count
    /// at a limit.
    pub async fn get_store_gauges(&self) -> Result<StoreGauges, ClientError> {
        Ok(self.admin()?.read_gauges().await?)
    }

    /// An instance and all its descendants.
    pub async fn get_instance_tree(&self, instance: &str) -> Result<InstanceTree, ClientError> {
        Ok(self.admin()?.get_instance_tree(instance).await?)
    }

    /// Running instances counted by the version that their current execution is pinned to: says
    /// which nodes an upgrade still needs. Executions of releases that did not pin are counted as
    /// [`UNPINNED_VERSION`](crate::providers::UNPINNED_VERSION); they are the oldest.
    pub async fn get_running_duroxide_version_spread(
        &self,
    ) -> Result<BTreeMap<String, u64>, ClientError> {
        Ok(self.admin()?.get_running_duroxide_version_spread().await?)
    }

    /// Running instances counted by their orchestration and its version: says which code is still
    /// needed. An instance between two executions counts with what the earlier one ran.
    ///
    /// # Examples
    ///
    /// ```
    /// # use duroxide_core as duroxide;
    /// # use duroxide::{Client, ClientError};
    /// # async fn example(client: &Client) -> Result<(), ClientError> {
    /// let spread = client.get_running_handler_version_spread().await?;
    /// let needs_first = spread.get("Order").is_some_and(|orders| orders.contains_key("1.0.0"));
    /// println!("orders of version 1.0.0 run: {needs_first}");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_running_handler_version_spread(
        &self,
    ) -> Result<HandlerVersionSpread, ClientError> {
        Ok(self.admin()?.get_running_handler_version_spread().await?)
    }

    /// Messages that wait for an instance that does not exist, oldest first, `limit` at the most.
    pub async fn list_parked_messages(
        &self,
        limit: u32,
    ) -> Result<Vec<ParkedMessage>, ClientError> {
        Ok(self.admin()?.list_parked_messages(limit).await?)
    }
}
