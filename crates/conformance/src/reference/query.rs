//! Queries over instances: every row is built, compared with the filter and sorted.

use std::collections::BTreeMap;

use duroxide_core::EventKind;
use duroxide_core::limits::MAX_ROW_TEXT;
use duroxide_core::providers::kit::{RowError, RowKey, RowScan, decode_attribute};
use duroxide_core::providers::{
    CountedInstances, InstanceCountQuery, InstancePage, InstanceQuery, PagePlace,
};
use duroxide_core::query::{ErrorCategory, InstanceFailure, InstanceRow, RowStatus};

use super::history;
use super::store::{Instance, Store};

/// A page of the instances that a filter selects.
pub(crate) fn page(
    store: &Store,
    now: u64,
    query: &InstanceQuery,
) -> Result<InstancePage, RowError> {
    let scan = RowScan::of(query)?;
    let rows = store.instances().into_iter().map(|(id, instance)| row(store, now, id, instance));
    let mut selected: BTreeMap<RowKey, InstanceRow> = rows
        .filter(|row| query.filter.matches(row, now))
        .map(|row| (RowKey::of(scan.order, &row), row))
        .collect();
    selected.retain(|key, _| scan.contains(key));
    let mut rows: Vec<InstanceRow> = selected.into_values().collect();
    if !scan.is_ascending {
        rows.reverse();
    }
    Ok(scan.page(query, rows, None))
}

/// Counts the instances that a filter selects.
pub(crate) fn count(
    store: &Store,
    now: u64,
    query: &InstanceCountQuery,
) -> Result<CountedInstances, RowError> {
    let mut listed = InstanceQuery::new(query.filter.clone());
    listed.place = query.after.clone().map(PagePlace::After);
    let mut count = 0;
    loop {
        let page = page(store, now, &listed)?;
        count += page.rows.len() as u64;
        match page.next {
            Some(next) if count < query.limit => listed = listed.with_after(next),
            next => return Ok(CountedInstances::new(count, next)),
        }
    }
}

fn row(store: &Store, now: u64, id: &str, instance: &Instance) -> InstanceRow {
    let execution = store.execution(id);
    let suspension = instance.suspension.as_ref();
    let status = RowStatus::of_stored(store.status(id).unwrap_or("Unknown"), suspension.is_some());
    let ended = execution.and_then(|execution| execution.completed_at);
    let mut row = InstanceRow::new(id, instance.name.as_str(), status).with_times(
        instance.created_at,
        instance.updated_at,
        ended,
        now,
    );
    row.orchestration_version.clone_from(&instance.version);
    row.executions = instance.current_execution;
    row.parent_instance_id.clone_from(&instance.parent);
    row.custom_status = instance.custom_status.as_deref().map(shown);
    if status == RowStatus::Suspended {
        row.suspended_reason = suspension.map(|suspension| shown(&suspension.reason));
    }
    if status == RowStatus::Failed {
        let message = execution.and_then(|execution| execution.output.as_deref()).unwrap_or("");
        let category = category(store, id, instance.current_execution);
        row.error = Some(InstanceFailure::new(category, shown(message)));
    }
    row.pin = execution.and_then(|execution| execution.pin.as_ref()).map(ToString::to_string);
    let values = store.records.get(id).map(|record| record.values.live()).unwrap_or_default();
    row.attributes =
        values.iter().filter_map(|(key, value)| decode_attribute(key, value)).collect();
    row
}

/// The part of a text that a row shows.
fn shown(text: &str) -> String {
    text.chars().take(MAX_ROW_TEXT).collect()
}

fn category(store: &Store, id: &str, execution_id: u64) -> Option<ErrorCategory> {
    let events = history::stored(store, id, execution_id).into_iter().rev();
    let (_, end) = events.into_iter().find(|(_, it)| it.event_type == "OrchestrationFailed")?;
    let EventKind::OrchestrationFailed { details } = end.decode().ok()?.kind else {
        return None;
    };
    Some(ErrorCategory::of(&details))
}
