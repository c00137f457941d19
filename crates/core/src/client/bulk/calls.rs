//! Plans and starts bulk acts.

use serde::Serialize;
use uuid::Uuid;

use super::act::{BulkAct, BulkRequest, BulkTarget};
use super::recorded::{BULK, BulkState, CURRENT_CODE, Counts, Stage};
use crate::client::{Client, ClientError, StartRequest};
use crate::limits::{BULK_COUNT_MAX, BULK_SAMPLE};
use crate::model::syscall::BUILTIN_CODE;
use crate::providers::{InstanceCount, InstanceQuery};
use crate::query::Filter;

/// What a bulk act concerns, as far as it is known before the ids are fixed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BulkPlan {
    /// How many instances; exact up to a million.
    pub count: u64,
    /// Whether the count is exact; else there are more.
    pub is_exact: bool,
    /// Some of their ids.
    pub sample: Vec<String>,
}

impl Client {
    /// How many instances a bulk act would concern, and some of them. It changes nothing.
    ///
    /// # Errors
    /// [`InvalidInput`](ClientError::InvalidInput) for a request that cannot be started.
    pub async fn plan_bulk(&self, request: &BulkRequest) -> Result<BulkPlan, ClientError> {
        request.check()?;
        let filter = match &request.target {
            BulkTarget::Ids(ids) => {
                let sample = ids.iter().take(BULK_SAMPLE as usize).cloned().collect();
                return Ok(BulkPlan { count: ids.len() as u64, is_exact: true, sample });
            }
            BulkTarget::Matching(filter) => targets(request.act, filter)?,
        };
        let query = InstanceQuery::new(filter.clone()).with_limit(BULK_SAMPLE);
        let rows = self.query_instances(query).await?.rows;
        let counted = self.count_instances_up_to(&filter, BULK_COUNT_MAX).await?;
        Ok(BulkPlan {
            count: counted.counted(),
            is_exact: matches!(counted, InstanceCount::Exactly(_)),
            sample: rows.into_iter().map(|row| row.instance_id).collect(),
        })
    }

    /// Starts a bulk act and returns its id. A process that hosts bulk acts carries it out, this
    /// one or any other; see `runtime::bulk::host`.
    ///
    /// - Only hosts of this build or a later one carry it out; older ones leave it to them.
    /// - The ids are fixed before the first instance is changed, and recorded.
    /// - A failure for one instance is recorded, and the act goes on with the others.
    /// - If the host dies, the next one goes on where it stopped. For a few instances the act may
    ///   then be repeated.
    /// - The act is an instance: it can be suspended, resumed and cancelled like any other. It is
    ///   never among its own targets.
    ///
    /// # Errors
    /// [`InvalidInput`](ClientError::InvalidInput) for a request without an operator, with too many
    /// ids or with a rate of zero.
    pub async fn start_bulk(&self, request: &BulkRequest) -> Result<String, ClientError> {
        request.check()?;
        let id = request
            .id
            .clone()
            .unwrap_or_else(|| format!("bulk-{}-{}", request.act, Uuid::new_v4().simple()));
        let (filter, ids) = match &request.target {
            BulkTarget::Matching(filter) => (Some(targets(request.act, filter)?), None),
            BulkTarget::Ids(ids) => (None, Some(ids.clone())),
        };
        let state = BulkState {
            act: request.act,
            by: request.by.clone(),
            reason: request.reason.clone(),
            filter: filter.map(|filter| filter.to_string()),
            ids,
            rate_per_second: request.rate_per_second,
            stage: Stage::Freeze { after: None },
            pages: Vec::new(),
            counts: Counts::default(),
        };
        let start = StartRequest::new(id.as_str(), BULK).with_version(CURRENT_CODE.version);
        self.start_if_new(start.with_typed_input(&state)?).await?;
        tracing::info!(
            target: "duroxide::client",
            instance_id = %id, act = request.act.word(), by = %request.by, reason = %request.reason,
            "bulk act started"
        );
        Ok(id)
    }
}

impl BulkRequest {
    /// The filter, less what an act never concerns; `None` if it names ids.
    pub fn effective_filter(&self) -> Option<Filter> {
        match &self.target {
            BulkTarget::Matching(filter) => targets(self.act, filter).ok(),
            BulkTarget::Ids(_) => None,
        }
    }
}

/// The filter, less what an act never concerns.
fn targets(act: BulkAct, filter: &Filter) -> Result<Filter, ClientError> {
    let parent = if matches!(act, BulkAct::Delete { .. }) { " parent:none" } else { "" };
    Ok(Filter::parse(&format!("{filter} -name:{BUILTIN_CODE}*{parent}"))?)
}
