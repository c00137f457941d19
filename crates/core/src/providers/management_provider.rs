//! The management trait of the first releases of 0.1.

use async_trait::async_trait;

use super::admin::not_supported;
use super::{ExecutionInfo, InstanceInfo, ProviderError, QueueDepths, SystemMetrics};
use crate::model::{Event, INITIAL_EXECUTION_ID};

/// An older management trait that nothing calls; kept so that code implementing it compiles.
#[async_trait]
pub trait ManagementProvider: Send + Sync {
    /// All instances.
    async fn list_instances(&self) -> Result<Vec<String>, ProviderError> {
        Ok(Vec::new())
    }

    /// Instances with this status.
    async fn list_instances_by_status(&self, _status: &str) -> Result<Vec<String>, ProviderError> {
        Ok(Vec::new())
    }

    /// Executions of an instance.
    async fn list_executions(&self, _instance: &str) -> Result<Vec<u64>, ProviderError> {
        Ok(vec![INITIAL_EXECUTION_ID])
    }

    /// History of one execution.
    async fn read_execution(
        &self,
        _instance: &str,
        _execution_id: u64,
    ) -> Result<Vec<Event>, ProviderError> {
        Err(not_supported("read_execution"))
    }

    /// Number of the latest execution.
    async fn latest_execution_id(&self, _instance: &str) -> Result<u64, ProviderError> {
        Ok(INITIAL_EXECUTION_ID)
    }

    /// One instance.
    async fn get_instance_info(&self, _instance: &str) -> Result<InstanceInfo, ProviderError> {
        Err(not_supported("get_instance_info"))
    }

    /// One execution.
    async fn get_execution_info(
        &self,
        _instance: &str,
        _execution_id: u64,
    ) -> Result<ExecutionInfo, ProviderError> {
        Err(not_supported("get_execution_info"))
    }

    /// Totals over the store.
    async fn get_system_metrics(&self) -> Result<SystemMetrics, ProviderError> {
        Ok(SystemMetrics::default())
    }

    /// Messages waiting in the queues.
    async fn get_queue_depths(&self) -> Result<QueueDepths, ProviderError> {
        Ok(QueueDepths::default())
    }
}
