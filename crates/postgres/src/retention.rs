//! Deleting instances and pruning executions.

use std::collections::HashSet;

use duroxide_core::providers::{
    DeleteInstanceResult, InstanceFilter, ProviderErrorKind, PruneOptions, PruneResult,
};
use tokio_postgres::Row;

use crate::error::JobError;
use crate::limits;
use crate::notify::change::Changes;
use crate::read::inspect;
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

/// Deletes exactly these instances, all or none.
pub(crate) async fn delete_listed(
    store: &Store,
    ids: &[String],
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
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
        queue_messages_deleted: number("o_messages"),
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

/// Finished roots that a filter selects, oldest first.
pub(crate) async fn deletable_roots(
    store: &Store,
    filter: &InstanceFilter,
) -> Result<Vec<String>, JobError> {
    let sql = "SELECT i.instance_id FROM {schema}.instances i
         JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE i.parent_instance_id IS NULL
             AND {schema}.instance_status{v}(i.instance_id, e.status)
                 IN ('Completed', 'Failed', 'ContinuedAsNew')
             AND ($1::BIGINT IS NULL OR e.completed_at < $1)
             AND ($2::TEXT[] IS NULL OR i.instance_id = ANY ($2))
         ORDER BY array_position($2, i.instance_id), i.created_at, i.number LIMIT $3";
    select(store, filter, sql).await
}

/// Instances that a filter selects, whatever their status.
pub(crate) async fn prunable_instances(
    store: &Store,
    filter: &InstanceFilter,
) -> Result<Vec<String>, JobError> {
    let sql = "SELECT i.instance_id FROM {schema}.instances i
         JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE ($1::BIGINT IS NULL OR e.completed_at < $1
                 AND {schema}.instance_status{v}(i.instance_id, e.status) <> 'Running')
             AND ($2::TEXT[] IS NULL OR i.instance_id = ANY ($2))
         ORDER BY array_position($2, i.instance_id), i.created_at, i.number LIMIT $3";
    select(store, filter, sql).await
}

async fn select(
    store: &Store,
    filter: &InstanceFilter,
    sql: &'static str,
) -> Result<Vec<String>, JobError> {
    let limit = i64::from(filter.limit.unwrap_or(limits::BULK_INSTANCES_DEFAULT));
    let before = filter.completed_before.map(to_db);
    let ids = filter.instance_ids.as_ref().map(|ids| {
        let mut seen = HashSet::new();
        let once = ids.iter().filter(|id| seen.insert(id.as_str()));
        once.map(|id| stored(id)).collect::<Vec<String>>()
    });
    let rows = store.query(sql, &[&before, &ids, &limit]).await?;
    Ok(rows.iter().map(|row| from_stored(row.get("instance_id"))).collect())
}

/// Deletes a selected root unless it is gone or runs again since the selection.
pub(crate) async fn delete_if_finished(
    store: &Store,
    root: &str,
) -> Result<DeleteInstanceResult, JobError> {
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
    let arguments: [Argument<'_>; 3] = [
        ("p_instance", &to_stored(instance)),
        ("p_keep_last", &keep),
        ("p_completed_before", &options.completed_before.map(to_db)),
    ];
    let rows = store.call("prune_executions", &arguments).await?;
    let number = |row: &Row, column| row.get::<_, Option<i64>>(column);
    let counts =
        rows.first().and_then(|row| number(row, "o_executions").zip(number(row, "o_events")));
    let (executions, events) = counts.ok_or_else(|| inspect::not_found(instance))?;
    Ok(PruneResult {
        instances_processed: 1,
        executions_deleted: from_db(executions),
        events_deleted: from_db(events),
    })
}
