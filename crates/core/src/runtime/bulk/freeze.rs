//! Reads a page of ids.

use std::time::Duration;

use crate::client::bulk::{BulkState, FreezeInput, FrozenPage};
use crate::client::{Client, ClientError};
use crate::limits::{BULK_PATIENCE_MAX, BULK_RETRY_PAUSE, MAX_QUERY_ROWS};
use crate::model::EventKind;
use crate::providers::{InstanceOrder, InstanceQuery, ListCursor};
use crate::query::Filter;
use crate::runtime::ActivityContext;

/// The activity: the ids behind a cursor that a filter selects, in the order of the ids, which no
/// change of an instance moves.
pub(super) async fn freeze(ctx: ActivityContext, input: String) -> Result<String, String> {
    let input: FreezeInput = serde_json::from_str(&input).map_err(|error| error.to_string())?;
    let filter = Filter::parse(&input.filter).map_err(|error| error.to_string())?;
    let mut query = InstanceQuery::new(filter)
        .sorted_by(InstanceOrder::Id)
        .ascending()
        .with_limit(MAX_QUERY_ROWS);
    if let Some(after) = input.after {
        query = query.with_after(ListCursor::new(after));
    }
    let client = ctx.get_client();
    let page = patiently(&ctx, || client.query_instances(query.clone())).await?;
    let ids = page.rows.into_iter().map(|row| row.instance_id).collect();
    let next = page.next.map(|next| next.as_str().to_owned());
    serde_json::to_string(&FrozenPage { ids, next }).map_err(|error| error.to_string())
}

/// The ids of a page, as the act has recorded them.
pub(super) async fn frozen_ids(
    ctx: &ActivityContext,
    client: &Client,
    page_in: u64,
) -> Result<Vec<String>, String> {
    let act = ctx.instance_id();
    let history = patiently(ctx, || client.read_execution_history(act, page_in)).await?;
    let recorded = history.iter().find_map(|event| {
        if let EventKind::ActivityCompleted { result } = &event.kind {
            return serde_json::from_str::<FrozenPage>(result).ok().map(|page| page.ids);
        }
        let EventKind::OrchestrationStarted { input, .. } = &event.kind else { return None };
        serde_json::from_str::<BulkState>(input).ok()?.ids
    });
    recorded.ok_or_else(|| {
        format!("execution {page_in} of {act} has no ids: the record of the act was changed")
    })
}

/// Repeats a call while the store is in trouble.
pub(super) async fn patiently<T, F: Future<Output = Result<T, ClientError>>>(
    ctx: &ActivityContext,
    call: impl Fn() -> F,
) -> Result<T, String> {
    let mut waited = Duration::ZERO;
    loop {
        match call().await {
            Ok(value) => return Ok(value),
            Err(error) if !error.is_retryable() || waited >= BULK_PATIENCE_MAX => {
                return Err(error.to_string());
            }
            Err(error) => ctx.trace_warn(format!("the store is in trouble; repeating: {error}")),
        }
        tokio::time::sleep(BULK_RETRY_PAUSE).await;
        waited += BULK_RETRY_PAUSE;
    }
}
