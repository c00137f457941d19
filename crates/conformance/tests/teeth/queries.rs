//! Faults of queries over instances.

use duroxide_core::providers::{
    CountedInstances, InstanceCountQuery, InstancePage, InstanceQuery, PagePlace, ProviderAdmin,
    ProviderError,
};
use duroxide_core::query::{Filter, RowStatus};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

impl FaultyProvider {
    /// Answers a query with the fault.
    pub(crate) async fn faulty_query(
        &self,
        mut query: InstanceQuery,
    ) -> Result<InstancePage, ProviderError> {
        if self.has(Fault::QueryFilterIgnored) {
            query.filter = Filter::all();
        }
        let (is_behind, is_before) = match &query.place {
            Some(PagePlace::After(_)) => (true, false),
            Some(PagePlace::Before(_)) => (false, true),
            None | Some(_) => (false, false),
        };
        let answered = self.inner.query_instances(query.clone()).await;
        let mut page = match answered {
            Err(_) if self.has(Fault::QueryCursorIgnored) => {
                query.place = None;
                self.inner.query_instances(query).await?
            }
            answered => answered?,
        };
        match self.fault() {
            Some(Fault::QueryBetweenExecutionsOmitted) => {
                let continued = self.between_executions().await?;
                page.rows.retain(|row| !continued.contains(&row.instance_id));
            }
            Some(Fault::QueryTiesUnsorted) => {
                let same = |one: &u64, other: &u64| one == other;
                page.rows
                    .chunk_by_mut(|one, other| same(&one.created_at_ms, &other.created_at_ms))
                    .for_each(<[_]>::reverse);
            }
            Some(Fault::QueryPageSkips) if is_behind && !page.rows.is_empty() => {
                page.rows.remove(0);
            }
            Some(Fault::QueryBackReversed) if is_before => page.rows.reverse(),
            Some(Fault::QueryErrorsHidden) => {
                for error in page.rows.iter_mut().filter_map(|row| row.error.as_mut()) {
                    error.category = None;
                }
            }
            Some(Fault::QueryAttributesHidden) => {
                page.rows.iter_mut().for_each(|row| row.attributes.clear());
            }
            Some(Fault::QuerySuspensionHidden) => {
                for row in page.rows.iter_mut().filter(|it| it.status == RowStatus::Suspended) {
                    row.status = RowStatus::Running;
                    row.suspended_reason = None;
                }
            }
            _other => {}
        }
        Ok(page)
    }

    /// Counts with the fault.
    pub(crate) async fn faulty_count(
        &self,
        mut query: InstanceCountQuery,
    ) -> Result<CountedInstances, ProviderError> {
        if self.has(Fault::QueryCountsAll) {
            query.filter = Filter::all();
        }
        self.inner.count_instances(query).await
    }
}
