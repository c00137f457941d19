//! Queries on a provider that has none of its own: slow and correct.
//!
//! Every call reads the list of all ids, and then the facts of one instance after the other. The
//! conformance suite compares the queries of a provider with these.

use super::kit::{RowKey, RowScan};
use super::{
    CountedInstances, InstanceCountQuery, InstanceOrder, InstanceOutcome, InstancePage,
    InstanceQuery, PagePlace, Provider, ProviderAdmin, ProviderError, ProviderErrorKind,
};
use crate::limits::{LISTED_ROWS_MAX, MAX_ROW_TEXT};
use crate::model::stored_attribute::decode_attribute;
use crate::model::{EventKind, ExecutionStatus};
use crate::query::{
    Condition, ErrorCategory, Filter, InstanceFailure, InstanceRow, RowStatus, TextField, TextTest,
    TextValue,
};

/// Answers a query by the calls that every provider with a management side has.
///
/// # Errors
/// The store failed, has no management side, or the cursor is of another list.
pub async fn query_by_listing(
    store: &dyn Provider,
    query: &InstanceQuery,
) -> Result<InstancePage, ProviderError> {
    let scan = RowScan::of(query).map_err(|error| error.during(QUERY))?;
    let mut search = Search::begin(store, &query.filter, scan).await?;
    let mut rows = Vec::new();
    while rows.len() <= query.limit() {
        let Some(group) = search.next_group().await? else {
            return Ok(search.scan.page(query, rows, None));
        };
        rows.extend(group);
        if rows.len() <= query.limit() && search.examined >= LISTED_ROWS_MAX {
            let stopped_at = search.passed.clone();
            return Ok(search.scan.page(query, rows, stopped_at));
        }
    }
    Ok(search.scan.page(query, rows, None))
}

/// Counts by the calls that every provider with a management side has.
///
/// # Errors
/// The store failed, has no management side, or the cursor is of another list.
pub async fn count_by_listing(
    store: &dyn Provider,
    query: &InstanceCountQuery,
) -> Result<CountedInstances, ProviderError> {
    // By id, so that the part of an instance never changes.
    let mut listed = InstanceQuery::new(query.filter.clone()).sorted_by(InstanceOrder::Id);
    listed.descending = false;
    listed.place = query.after.clone().map(PagePlace::After);
    let scan = RowScan::of(&listed).map_err(|error| error.during(COUNT))?;
    let mut search = Search::begin(store, &query.filter, scan).await?;
    let mut count = 0;
    while let Some(group) = search.next_group().await? {
        count += group.len() as u64;
        if count >= query.limit || search.examined >= LISTED_ROWS_MAX {
            let next = search.passed.clone().map(|key| search.scan.passed(key));
            return Ok(CountedInstances::new(count, next));
        }
    }
    Ok(CountedInstances::new(count, None))
}

const QUERY: &str = "query_instances";
const COUNT: &str = "count_instances";

struct Search<'a> {
    store: &'a dyn Provider,
    admin: &'a dyn ProviderAdmin,
    filter: &'a Filter,
    scan: RowScan,
    /// In the direction of the scan. Instances that were created at the same time may stand in any
    /// order.
    ids: Vec<String>,
    at: usize,
    /// The first row behind those that were returned.
    ahead: Option<InstanceRow>,
    examined: usize,
    passed: Option<RowKey>,
    now: u64,
}

impl<'a> Search<'a> {
    async fn begin(
        store: &'a dyn Provider,
        filter: &'a Filter,
        scan: RowScan,
    ) -> Result<Self, ProviderError> {
        let admin = store.as_management_capability().ok_or_else(|| {
            ProviderError::permanent(QUERY, "the provider has no management side")
        })?;
        let mut ids = candidates(admin, filter).await?;
        match scan.order {
            InstanceOrder::Id => ids.sort_unstable(),
            // They come newest first.
            InstanceOrder::Created => ids.reverse(),
        }
        if !scan.is_ascending {
            ids.reverse();
        }
        let now = store.clock().now_ms();
        let (ahead, examined, passed) = (None, 0, None);
        let mut search =
            Self { store, admin, filter, scan, ids, at: 0, ahead, examined, passed, now };
        search.at = search.first_place().await?;
        Ok(search)
    }

    /// The place of the first id that may belong to the scan.
    async fn first_place(&self) -> Result<usize, ProviderError> {
        let Some((start, _)) = self.scan.start() else { return Ok(0) };
        if self.scan.order == InstanceOrder::Id {
            let is_before = |id: &String| {
                self.scan.compare(&RowKey::new(InstanceOrder::Id, 0, id.as_str()), start).is_lt()
            };
            return Ok(self.ids.partition_point(is_before));
        }
        let (mut low, mut high) = (0, self.ids.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            // One that is gone meanwhile has no time: what stands behind it decides.
            let mut probe = middle;
            let mut created = None;
            while probe < high && created.is_none() {
                created = self.created_at(&self.ids[probe]).await?;
                probe += 1;
            }
            let is_before = created.is_some_and(|created| {
                if self.scan.is_ascending {
                    created < start.created_at
                } else {
                    created > start.created_at
                }
            });
            if is_before { low = probe } else { high = middle }
        }
        Ok(low)
    }

    async fn created_at(&self, id: &str) -> Result<Option<u64>, ProviderError> {
        found(self.admin.get_instance_info(id).await).map(|info| info.map(|info| info.created_at))
    }

    /// The next rows that were created at one time and that the filter selects; `None` at the end.
    async fn next_group(&mut self) -> Result<Option<Vec<InstanceRow>>, ProviderError> {
        let mut group: Vec<InstanceRow> = Vec::new();
        while let Some(row) = self.next_row().await? {
            let same = |first: &InstanceRow| match self.scan.order {
                InstanceOrder::Created => first.created_at_ms == row.created_at_ms,
                InstanceOrder::Id => false,
            };
            if group.first().is_some_and(|first| !same(first)) {
                self.ahead = Some(row);
                break;
            }
            group.push(row);
        }
        if group.is_empty() {
            return Ok(None);
        }
        let key = |row: &InstanceRow| RowKey::of(self.scan.order, row);
        group.sort_by(|one, other| self.scan.compare(&key(one), &key(other)));
        self.passed = group.last().map(key);
        let is_wanted =
            |row: &InstanceRow| self.scan.contains(&key(row)) && self.filter.matches(row, self.now);
        Ok(Some(group.into_iter().filter(is_wanted).collect()))
    }

    async fn next_row(&mut self) -> Result<Option<InstanceRow>, ProviderError> {
        if let Some(row) = self.ahead.take() {
            return Ok(Some(row));
        }
        while let Some(id) = self.ids.get(self.at) {
            self.at += 1;
            self.examined += 1;
            if let Some(row) = read_row(self.store, self.admin, id, self.now).await? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// Ids among which all are that the filter selects, newest first.
async fn candidates(
    admin: &dyn ProviderAdmin,
    filter: &Filter,
) -> Result<Vec<String>, ProviderError> {
    for term in filter.terms().iter().filter(|term| !term.negated) {
        if let Condition::Text(TextField::Id, TextTest::OneOf(values)) = &term.condition
            && let Some(id) = only_id(values)
        {
            return Ok(vec![id.to_owned()]);
        }
        if let Condition::Status(statuses) = &term.condition {
            match statuses.as_slice() {
                [RowStatus::Failed] => {
                    return admin.list_instances_by_status(ExecutionStatus::Failed.as_str()).await;
                }
                [RowStatus::Running | RowStatus::Suspended] => {
                    return admin.list_instances_by_status(ExecutionStatus::Running.as_str()).await;
                }
                // Others are listed under several.
                _several => {}
            }
        }
    }
    admin.list_instances().await
}

/// The only id that fits.
fn only_id(values: &[TextValue]) -> Option<&str> {
    match values {
        [TextValue::Like(pattern)] => pattern.as_exact(),
        _ => None,
    }
}

/// One instance as a row; `None` if it is unknown.
async fn read_row(
    store: &dyn Provider,
    admin: &dyn ProviderAdmin,
    id: &str,
    now: u64,
) -> Result<Option<InstanceRow>, ProviderError> {
    let Some(info) = found(admin.get_instance_info(id).await)? else { return Ok(None) };
    let suspension = admin.read_suspension(id).await?;
    let status = RowStatus::of_stored(&info.status, suspension.is_some());
    let ended = match status.is_terminal() {
        true => found(admin.get_execution_info(id, info.current_execution_id).await)?
            .and_then(|execution| execution.completed_at),
        false => None,
    };
    let mut row = InstanceRow::new(id, info.orchestration_name, status).with_times(
        info.created_at,
        info.updated_at,
        ended,
        now,
    );
    row.orchestration_version = info.orchestration_version;
    row.executions = info.current_execution_id;
    row.parent_instance_id = info.parent_instance_id;
    row.suspended_reason =
        suspension.filter(|_| status == RowStatus::Suspended).map(|suspension| suspension.reason);
    row.custom_status =
        store.get_custom_status(id, 0).await?.and_then(|(custom_status, _)| custom_status);
    row.custom_status = row.custom_status.as_deref().map(row_text);
    row.pin = readable(store.read_start_event(id).await)?.flatten().map(|it| it.duroxide_version);
    let values = store.get_kv_all_values(id).await?;
    row.attributes =
        values.iter().filter_map(|(key, value)| decode_attribute(key, value)).collect();
    if status == RowStatus::Failed {
        let outcome = readable(store.read_outcome(id).await)?;
        row.error = Some(failure(outcome, row_text(&info.output.unwrap_or_default())));
    }
    Ok(Some(row))
}

/// The part of a text that rows show.
fn row_text(text: &str) -> String {
    text.chars().take(MAX_ROW_TEXT).collect()
}

/// Why an instance failed, by the event that ended it.
fn failure(outcome: Option<InstanceOutcome>, message: String) -> InstanceFailure {
    let mut failure = InstanceFailure::new(None, message);
    if let Some(InstanceOutcome::Ended(event)) = outcome
        && let EventKind::OrchestrationFailed { details } = &event.kind
    {
        failure.category = Some(ErrorCategory::of(details));
    }
    failure
}

/// What was read; `None` if it is unknown.
fn found<T>(read: Result<T, ProviderError>) -> Result<Option<T>, ProviderError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind == ProviderErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// What was read; `None` if it cannot be decoded. A damaged instance is listed all the same.
fn readable<T>(read: Result<T, ProviderError>) -> Result<Option<T>, ProviderError> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind == ProviderErrorKind::Undecodable => Ok(None),
        Err(error) => Err(error),
    }
}
