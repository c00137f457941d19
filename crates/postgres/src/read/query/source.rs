//! The search of the provider kit over this store: each read is one statement.

use async_trait::async_trait;
use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::ProviderError;
use duroxide_core::providers::kit::{InstanceSet, InstanceSource, KeyRequest, RowKey};
use duroxide_core::query::{InstanceRow, RowStatus};

use super::{keys, rows, sets};
use crate::error::During;
use crate::store::Store;

const OPERATION: &str = "query_instances";

/// The instances of a store.
#[derive(Debug)]
pub(crate) struct QuerySource<'a>(pub(crate) &'a Store);

#[async_trait]
impl InstanceSource for QuerySource<'_> {
    fn now_ms(&self) -> u64 {
        self.0.clock().now_ms()
    }

    async fn members(
        &self,
        set: &InstanceSet,
        max: usize,
    ) -> Result<Option<Vec<String>>, ProviderError> {
        sets::members(self.0, set, max).await.during(OPERATION)
    }

    async fn names(&self, prefix: &str, max: usize) -> Result<Option<Vec<String>>, ProviderError> {
        keys::names(self.0, prefix, max).await.during(OPERATION)
    }

    async fn keys(&self, request: KeyRequest<'_>) -> Result<Vec<RowKey>, ProviderError> {
        keys::read(self.0, &request).await.during(OPERATION)
    }

    async fn rows(
        &self,
        ids: &[String],
        excluded: &[ExecutionStatus],
    ) -> Result<Vec<InstanceRow>, ProviderError> {
        rows::read(self.0, ids, excluded, self.now_ms()).await.during(OPERATION)
    }

    async fn add_categories(&self, rows: &mut [InstanceRow]) -> Result<(), ProviderError> {
        let mut failed: Vec<&mut InstanceRow> =
            rows.iter_mut().filter(|row| row.status == RowStatus::Failed).collect();
        rows::add_categories(self.0, &mut failed).await.during(OPERATION)
    }

    async fn add_attributes(&self, rows: &mut [InstanceRow]) -> Result<(), ProviderError> {
        rows::add_attributes(self.0, rows).await.during(OPERATION)
    }
}
