//! Deleting instances and pruning executions.

use std::collections::HashSet;

use duroxide_core::providers::kit::BulkErrors;
use duroxide_core::providers::{
    DeleteInstanceResult, InstanceFilter, ProviderErrorKind, PruneOptions, PruneResult,
};
use tokio_postgres::Row;

use crate::error::JobError;
use crate::limits;
use crate::notify::change::Changes;
use crate::pending_children;
use crate::read::{family, inspect};
use crate::schema::call::Argument;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{from_stored, stored, to_stored};
use crate::store::Store;

/// Deletes a root instance with its tree.
///
/// An id that was never an instance can be deleted if messages are parked for it.
pub(crate) async fn delete_root(
    store: &Store,
    instance: &str,
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
    let parent = match inspect::parent(store, instance).await {
        Ok(parent) => parent,
        Err(error) => return delete_parked(store, instance).await?.ok_or(error),
    };
    if parent.is_some() {
        return Err(JobError::refused(
            ProviderErrorKind::NotRoot,
            format!(
                "Cannot delete sub-orchestration {instance} directly. Delete root instance instead."
            ),
        ));
    }
    let tree = inspect::tree(store, instance).await?;
    delete_listed(store, &tree, force).await
}

async fn delete_parked(
    store: &Store,
    instance: &str,
) -> Result<Option<DeleteInstanceResult>, JobError> {
    let sql = "DELETE FROM {schema}.orchestrator_queue WHERE instance_id = $1 AND parked
         RETURNING 1";
    let deleted = store.change(sql, &[&to_stored(instance)]).await?.len();
    Ok((deleted > 0).then(|| DeleteInstanceResult {
        queue_messages_deleted: u64::try_from(deleted).unwrap_or(u64::MAX),
        ..DeleteInstanceResult::default()
    }))
}

/// Deletes exactly these instances, all or none. A long list is checked as a whole and then deleted
/// in slices, children first: a caller that is interrupted repeats the call for the rest.
pub(crate) async fn delete_listed(
    store: &Store,
    ids: &[String],
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
    if ids.len() <= limits::INSTANCES_PER_DELETION {
        return delete_together(store, ids, force).await;
    }
    let family = family::read(store, ids).await?;
    let running = family.running.filter(|_| !force);
    if let Some(refusal) = refusal(ids, running, family.unlisted_child) {
        return Err(refusal);
    }
    let mut total = DeleteInstanceResult::default();
    for slice in family.children_first.chunks(limits::INSTANCES_PER_DELETION) {
        total += delete_together(store, slice, force).await?;
    }
    Ok(total)
}

/// Deletes these instances in one transaction.
async fn delete_together(
    store: &Store,
    ids: &[String],
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
    let pending = pending_children::of(store, ids).await?;
    let stored_ids: Vec<String> = ids.iter().map(|id| stored(id)).collect();
    let arguments: [Argument<'_>; 2] = [("p_ids", &stored_ids), ("p_force", &force)];
    let rows = store.call("delete_instances", &arguments).await?;
    let Some(row) = rows.first() else {
        return Err(JobError::Broken("delete_instances returned no row".to_owned()));
    };
    let text = |column: &str| row.get::<_, Option<String>>(column).map(from_stored);
    let refusal = refusal(ids, text("o_running"), text("o_parent").zip(text("o_child")));
    if let Some(refusal) = refusal {
        return Err(refusal);
    }
    let starts = pending_children::delete(store, &pending).await?;
    let number = |column: &str| row.get::<_, Option<i64>>(column).map_or(0, from_db);
    let mut changes = Changes::default();
    changes.work_locks();
    for id in ids {
        changes.instance(id);
    }
    store.publish(changes);
    Ok(DeleteInstanceResult {
        instances_deleted: number("o_instances"),
        executions_deleted: number("o_executions"),
        events_deleted: number("o_events"),
        queue_messages_deleted: number("o_messages") + starts,
    })
}

/// Why nothing was deleted: the first reason in the order of the list.
fn refusal(
    ids: &[String],
    running: Option<String>,
    child: Option<(String, String)>,
) -> Option<JobError> {
    let place = |id: &String| ids.iter().position(|listed| listed == id);
    let running_first = match (&running, &child) {
        (Some(running), Some((parent, _))) => place(running) <= place(parent),
        (running, _) => running.is_some(),
    };
    if running_first {
        let id = running?;
        return Some(JobError::refused(
            ProviderErrorKind::StillRunning,
            format!("Instance {id} is still running. Cancel it first, or use force to delete it."),
        ));
    }
    let (id, child) = child?;
    Some(JobError::refused(
        ProviderErrorKind::Conflict,
        format!(
            "Instance {id} has child {child} that was created after tree traversal. Re-fetch the \
             tree and retry."
        ),
    ))
}

/// Deletes finished roots that a filter selects, each with its tree and by itself. Passes over a
/// root that cannot be deleted.
pub(crate) async fn delete_bulk(
    store: &Store,
    filter: &InstanceFilter,
) -> Result<DeleteInstanceResult, JobError> {
    let mut page = Page::of(filter);
    let mut errors = BulkErrors::default();
    let mut total = DeleteInstanceResult::default();
    while page.limit > 0 {
        let roots = deletable_roots(store, filter, page).await?;
        if roots.is_empty() {
            break;
        }
        for root in roots {
            match delete_if_finished(store, &root).await {
                Ok(deleted) if deleted.instances_deleted > 0 => {
                    total += deleted;
                    errors.succeeded();
                    page.limit -= 1;
                }
                Ok(_) => page.offset += 1,
                Err(error) => {
                    page.offset += 1;
                    errors.failed(&root, error)?;
                }
            }
        }
    }
    errors.unless(total.instances_deleted > 0)?;
    Ok(total)
}

/// Prunes instances that a filter selects. Passes over one that cannot be pruned.
pub(crate) async fn prune_bulk(
    store: &Store,
    filter: &InstanceFilter,
    options: &PruneOptions,
) -> Result<PruneResult, JobError> {
    let mut errors = BulkErrors::default();
    let mut total = PruneResult::default();
    for instance in prunable_instances(store, filter).await? {
        match prune(store, &instance, options).await {
            Ok(pruned) => {
                total += pruned;
                errors.succeeded();
            }
            Err(error) => errors.failed(&instance, error)?,
        }
    }
    errors.unless(total.instances_processed > 0)?;
    Ok(total)
}

/// A part of what a filter selects.
#[derive(Debug, Clone, Copy)]
struct Page {
    limit: i64,
    offset: i64,
}

impl Page {
    fn of(filter: &InstanceFilter) -> Self {
        Self { limit: i64::from(filter.limit.unwrap_or(limits::BULK_INSTANCES_DEFAULT)), offset: 0 }
    }
}

/// Finished roots that a filter selects, oldest first.
async fn deletable_roots(
    store: &Store,
    filter: &InstanceFilter,
    page: Page,
) -> Result<Vec<String>, JobError> {
    let sql = "SELECT i.instance_id FROM {schema}.instances i
         JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE i.parent_instance_id IS NULL
             AND {schema}.instance_status{v}(i.instance_id, e.status)
                 IN ('Completed', 'Failed', 'ContinuedAsNew')
             AND ($1::BIGINT IS NULL OR e.completed_at < $1)
             AND ($2::TEXT[] IS NULL OR i.instance_id = ANY ($2))
         ORDER BY array_position($2, i.instance_id), i.created_at, i.number LIMIT $3 OFFSET $4";
    select(store, filter, page, sql).await
}

/// Instances that a filter selects, whatever their status.
async fn prunable_instances(
    store: &Store,
    filter: &InstanceFilter,
) -> Result<Vec<String>, JobError> {
    let sql = "SELECT i.instance_id FROM {schema}.instances i
         JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE ($1::BIGINT IS NULL OR e.completed_at < $1
                 AND {schema}.instance_status{v}(i.instance_id, e.status) <> 'Running')
             AND ($2::TEXT[] IS NULL OR i.instance_id = ANY ($2))
         ORDER BY array_position($2, i.instance_id), i.created_at, i.number LIMIT $3 OFFSET $4";
    select(store, filter, Page::of(filter), sql).await
}

async fn select(
    store: &Store,
    filter: &InstanceFilter,
    page: Page,
    sql: &'static str,
) -> Result<Vec<String>, JobError> {
    let before = filter.completed_before.map(to_db);
    let ids = filter.instance_ids.as_ref().map(|ids| {
        let mut seen = HashSet::new();
        let once = ids.iter().filter(|id| seen.insert(id.as_str()));
        once.map(|id| stored(id)).collect::<Vec<String>>()
    });
    let rows = store.query(sql, &[&before, &ids, &page.limit, &page.offset]).await?;
    Ok(rows.iter().map(|row| from_stored(row.get("instance_id"))).collect())
}

/// Deletes a selected root unless it is gone or runs again since the selection.
async fn delete_if_finished(store: &Store, root: &str) -> Result<DeleteInstanceResult, JobError> {
    let tree = inspect::tree(store, root).await?;
    match delete_listed(store, &tree, false).await {
        // It runs again, or has grown: that is for the next time.
        Err(JobError::Refused(..)) => Ok(DeleteInstanceResult::default()),
        outcome => outcome,
    }
}

/// Deletes old executions of a known instance, never the current or a running one.
pub(crate) async fn prune(
    store: &Store,
    instance: &str,
    options: &PruneOptions,
) -> Result<PruneResult, JobError> {
    let keep = i64::from(options.keep_last.unwrap_or(0));
    let arguments: [Argument<'_>; 4] = [
        ("p_instance", &to_stored(instance)),
        ("p_keep_last", &keep),
        ("p_completed_before", &options.completed_before.map(to_db)),
        ("p_rows_max", &limits::ROWS_PER_PRUNING),
    ];
    let mut total = PruneResult { instances_processed: 1, ..PruneResult::default() };
    loop {
        let rows = store.call("prune_executions", &arguments).await?;
        let number = |row: &Row, column| row.get::<_, Option<i64>>(column);
        let counts =
            rows.first().and_then(|row| number(row, "o_executions").zip(number(row, "o_events")));
        let (executions, events) = counts.ok_or_else(|| inspect::not_found(instance))?;
        total.executions_deleted += from_db(executions);
        total.events_deleted += from_db(events);
        if rows.first().and_then(|row| row.get("o_unfinished")) != Some(true) {
            return Ok(total);
        }
    }
}
