//! The search of the provider kit over this store. Each read is a job of its own on a read
//! connection, so that other reads run in between.

use async_trait::async_trait;
use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::ProviderError;
use duroxide_core::providers::kit::{InstanceSet, InstanceSource, KeyRequest, RowKey};
use duroxide_core::query::{InstanceRow, RowStatus};

use super::{keys, rows, sets};
use crate::SqliteProvider;

const OPERATION: &str = "query_instances";

/// The instances of a store.
#[derive(Debug)]
pub(crate) struct QuerySource<'a>(pub(crate) &'a SqliteProvider);

#[async_trait]
impl InstanceSource for QuerySource<'_> {
    fn now_ms(&self) -> u64 {
        self.0.clock_ref().now_ms()
    }

    async fn members(
        &self,
        set: &InstanceSet,
        max: usize,
    ) -> Result<Option<Vec<String>>, ProviderError> {
        let set = set.clone();
        self.0.read_with(OPERATION, move |conn| sets::members(conn, &set, max)).await
    }

    async fn names(&self, prefix: &str, max: usize) -> Result<Option<Vec<String>>, ProviderError> {
        let prefix = prefix.to_owned();
        self.0.read_with(OPERATION, move |conn| keys::names(conn, &prefix, max)).await
    }

    async fn keys(&self, request: KeyRequest<'_>) -> Result<Vec<RowKey>, ProviderError> {
        let search = keys::KeySearch::of(&request);
        self.0.read_with(OPERATION, move |conn| search.run(conn)).await
    }

    async fn rows(
        &self,
        ids: &[String],
        excluded: &[ExecutionStatus],
    ) -> Result<Vec<InstanceRow>, ProviderError> {
        let (ids, excluded, now) = (ids.to_vec(), excluded.to_vec(), self.now_ms());
        self.0.read_with(OPERATION, move |conn| rows::read(conn, &ids, &excluded, now)).await
    }

    async fn add_categories(&self, rows: &mut [InstanceRow]) -> Result<(), ProviderError> {
        let mut failed: Vec<&mut InstanceRow> =
            rows.iter_mut().filter(|row| row.status == RowStatus::Failed).collect();
        if failed.is_empty() {
            return Ok(());
        }
        let named = failed.iter().map(|row| (row.instance_id.clone(), row.executions));
        let named: Vec<(String, u64)> = named.collect();
        let read = move |conn: &_| rows::categories(conn, &named);
        let found = self.0.read_with(OPERATION, read).await?;
        for (row, category) in failed.iter_mut().zip(found) {
            if let Some(error) = &mut row.error {
                error.category = category;
            }
        }
        Ok(())
    }

    async fn add_attributes(&self, rows: &mut [InstanceRow]) -> Result<(), ProviderError> {
        let ids: Vec<String> = rows.iter().map(|row| row.instance_id.clone()).collect();
        let read = move |conn: &_| rows::attributes(conn, &ids);
        let found = self.0.read_with(OPERATION, read).await?;
        for (row, attributes) in rows.iter_mut().zip(found) {
            row.attributes = attributes;
        }
        Ok(())
    }
}
