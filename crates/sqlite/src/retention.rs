//! Deleting instances and pruning executions.

use std::collections::HashSet;
use std::time::Instant;

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    DeleteInstanceResult, InstanceFilter, ProviderError, ProviderErrorKind, PruneOptions,
    PruneResult,
};
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::limits;
use crate::pending_children;
use crate::read::inspect;
use crate::read::status::instance_status;
use crate::schema::number::to_db;
use crate::write::slices::Slice;
use crate::write::writer::Tx;
use crate::{SqliteProvider, deletion_slices};

/// Deletes a root instance with its tree. A child cannot be deleted alone: its parent may wait for
/// it.
///
/// An id that was never an instance can be deleted if messages are parked for it.
pub(crate) fn delete_root(
    tx: &mut Tx<'_>,
    instance: &str,
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
    let parent = match inspect::parent(tx.conn, instance) {
        Ok(parent) => parent,
        Err(error) => return delete_parked(tx.conn, instance)?.ok_or(error),
    };
    if parent.is_some() {
        return Err(JobError::refused(
            ProviderErrorKind::NotRoot,
            format!(
                "Cannot delete sub-orchestration {instance} directly. Delete root instance instead."
            ),
        ));
    }
    let tree = inspect::tree(tx.conn, instance)?;
    delete_listed(tx, &tree, force)
}

fn delete_parked(
    conn: &Connection,
    instance: &str,
) -> Result<Option<DeleteInstanceResult>, JobError> {
    let deleted = conn
        .prepare_cached("DELETE FROM orchestrator_queue WHERE instance_id = ?1 AND parked = 1")?
        .execute([instance])?;
    Ok((deleted > 0).then(|| DeleteInstanceResult {
        queue_messages_deleted: as_count(deleted),
        ..DeleteInstanceResult::default()
    }))
}

/// Deletes exactly these instances, all or none. Ids without an instance are left alone: a start
/// that waits there belongs to a new instance. Of many, this hides those without a listed parent,
/// and the sweep hides the others before it removes rows.
pub(crate) fn delete_listed(
    tx: &mut Tx<'_>,
    ids: &[String],
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
    // JSON, by which many are passed to a statement, cannot carry the character zero.
    if ids.len() > limits::INSTANCES_AT_ONCE_MAX && !ids.iter().any(|id| id.contains('\0')) {
        return delete_many(tx, ids, force);
    }
    let listed: HashSet<&str> = ids.iter().map(String::as_str).collect();
    for id in ids {
        if !force && status(tx.conn, id)? == Some(ExecutionStatus::Running) {
            return Err(still_running(id));
        }
        for child in inspect::children(tx.conn, id)? {
            if !listed.contains(child.as_str()) {
                return Err(unlisted_child(id, &child));
            }
        }
    }
    let mut result = DeleteInstanceResult::default();
    for id in ids {
        if exists(tx.conn, id)? {
            delete_one(tx, id, &mut result)?;
        }
    }
    Ok(result)
}

fn exists(conn: &Connection, instance: &str) -> Result<bool, JobError> {
    let sql = "SELECT 1 FROM instances WHERE instance_id = ?1";
    Ok(conn.prepare_cached(sql)?.exists([instance])?)
}

fn still_running(id: &str) -> JobError {
    JobError::refused(
        ProviderErrorKind::StillRunning,
        format!("Instance {id} is still running. Cancel it first, or use force to delete it."),
    )
}

fn unlisted_child(id: &str, child: &str) -> JobError {
    JobError::refused(
        ProviderErrorKind::Conflict,
        format!(
            "Instance {id} has child {child} that was created after tree traversal. Re-fetch the \
             tree and retry."
        ),
    )
}

/// Checks a long list in a few statements and hides what the sweep does not find as a child.
fn delete_many(
    tx: &mut Tx<'_>,
    ids: &[String],
    force: bool,
) -> Result<DeleteInstanceResult, JobError> {
    let listed = serde_json::to_string(ids)
        .map_err(|error| JobError::Broken(format!("cannot list instances: {error}")))?;
    let running: Option<(String, i64)> = if force {
        None
    } else {
        tx.conn.prepare_cached(FIRST_RUNNING_SQL)?.query_row([&listed], pair).optional()?
    };
    let mut children = tx.conn.prepare_cached(UNLISTED_CHILD_SQL)?;
    let child: Option<(String, String, i64)> = children
        .query_row([&listed], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    // The first reason in the order of the list.
    match (running, child) {
        (Some((id, place)), child) if child.as_ref().is_none_or(|(_, _, of)| place <= *of) => {
            return Err(still_running(&id));
        }
        (_, Some((id, child, _))) => return Err(unlisted_child(&id, &child)),
        (_, None) => {}
    }
    let roots: Vec<String> = tx
        .conn
        .prepare_cached(LISTED_ROOTS_SQL)?
        .query_map([&listed], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut result = DeleteInstanceResult::default();
    for root in &roots {
        deletion_slices::hide_instance(tx, root, &mut result)?;
    }
    Ok(result)
}

fn pair(row: &rusqlite::Row<'_>) -> rusqlite::Result<(String, i64)> {
    Ok((row.get(0)?, row.get(1)?))
}

const FIRST_RUNNING_SQL: &str = concat!(
    "SELECT i.instance_id, j.key FROM json_each(?1) j
     CROSS JOIN instances i ON i.instance_id = j.value
     CROSS JOIN executions e
         ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
     WHERE ",
    instance_status!(),
    " = 'Running' LIMIT 1"
);

const UNLISTED_CHILD_SQL: &str = "SELECT i.parent_instance_id, i.instance_id, j.key
     FROM json_each(?1) j
     CROSS JOIN instances i ON i.parent_instance_id = j.value
     WHERE i.instance_id NOT IN (SELECT value FROM json_each(?1)) LIMIT 1";

const LISTED_ROOTS_SQL: &str = "SELECT DISTINCT j.value FROM json_each(?1) j
     CROSS JOIN instances i ON i.instance_id = j.value
     WHERE coalesce(i.parent_instance_id NOT IN (SELECT value FROM json_each(?1)), TRUE)";

fn status(conn: &Connection, instance: &str) -> Result<Option<ExecutionStatus>, JobError> {
    let stored: Option<String> = conn
        .prepare_cached(concat!(
            "SELECT ",
            instance_status!(),
            " FROM instances i
             JOIN executions e
                 ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
             WHERE i.instance_id = ?1",
        ))?
        .query_row([instance], |row| row.get(0))
        .optional()?;
    Ok(stored.as_deref().and_then(ExecutionStatus::parse))
}

fn delete_one(
    tx: &mut Tx<'_>,
    instance: &str,
    result: &mut DeleteInstanceResult,
) -> Result<(), JobError> {
    if deletion_slices::is_large(tx.conn, instance)? {
        return deletion_slices::hide_instance(tx, instance, result);
    }
    result.queue_messages_deleted += pending_children::delete(tx, instance)?;
    let delete = |sql: &str| -> Result<u64, JobError> {
        Ok(as_count(tx.conn.prepare_cached(sql)?.execute([instance])?))
    };
    result.events_deleted += delete("DELETE FROM history WHERE instance_id = ?1")?;
    result.executions_deleted += delete("DELETE FROM executions WHERE instance_id = ?1")?;
    result.queue_messages_deleted +=
        delete("DELETE FROM orchestrator_queue WHERE instance_id = ?1")?;
    result.queue_messages_deleted += delete("DELETE FROM worker_queue WHERE instance_id = ?1")?;
    // Also of single executions: a new instance of that id has executions of the same number.
    delete("DELETE FROM deletions WHERE instance_id = ?1")?;
    deletion_slices::remove_instance(tx, instance, result)
}

fn as_count(rows: usize) -> u64 {
    u64::try_from(rows).unwrap_or(u64::MAX)
}

/// An instance as a filter selected it.
#[derive(Debug, Clone)]
pub(crate) struct SelectedInstance {
    pub(crate) id: String,
    incarnation: i64,
    execution_id: i64,
}

impl SelectedInstance {
    fn from_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self { id: row.get(0)?, incarnation: row.get(1)?, execution_id: row.get(2)? })
    }
}

/// Finished roots that a filter selects, oldest first.
pub(crate) fn deletable_roots(
    conn: &Connection,
    filter: &InstanceFilter,
    passed_over: u32,
) -> Result<Vec<SelectedInstance>, JobError> {
    select(
        conn,
        filter,
        passed_over,
        concat!(
            "i.parent_instance_id IS NULL AND ",
            instance_status!(),
            " IN ('Completed', 'Failed', 'ContinuedAsNew')"
        ),
    )
}

/// Instances that a filter selects, whatever their status, including children.
pub(crate) fn prunable_instances(
    conn: &Connection,
    filter: &InstanceFilter,
) -> Result<Vec<String>, JobError> {
    let selected = select(conn, filter, 0, "TRUE")?;
    Ok(selected.into_iter().map(|instance| instance.id).collect())
}

fn select(
    conn: &Connection,
    filter: &InstanceFilter,
    passed_over: u32,
    condition: &str,
) -> Result<Vec<SelectedInstance>, JobError> {
    let limit = filter.limit.unwrap_or(limits::BULK_INSTANCES_DEFAULT);
    let before = filter.completed_before.map(to_db);
    let from = format!(
        "SELECT i.instance_id, i.incarnation, i.current_execution_id FROM instances i
         JOIN executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE {condition}
             AND (?1 IS NULL OR e.completed_at < ?1 AND {} <> 'Running')",
        instance_status!()
    );
    let Some(ids) = &filter.instance_ids else {
        let sql = format!("{from} ORDER BY i.created_at, i.rowid LIMIT ?2 OFFSET ?3");
        return Ok(conn
            .prepare_cached(&sql)?
            .query_map(params![before, limit, passed_over], SelectedInstance::from_row)?
            .collect::<Result<_, _>>()?);
    };
    let sql = format!("{from} AND i.instance_id = ?2");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut selected = Vec::new();
    let mut seen = HashSet::new();
    let rows = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
    let last = rows(limit).saturating_add(rows(passed_over));
    for id in ids.iter().filter(|id| seen.insert(id.as_str())) {
        if selected.len() >= last {
            break;
        }
        selected.extend(
            statement.query_row(params![before, id], SelectedInstance::from_row).optional()?,
        );
    }
    Ok(selected.split_off(rows(passed_over).min(selected.len())))
}

/// Deletes a selected root with its tree. Refuses if one of its tree runs, or if it was deleted
/// since, whatever has its id by now: that one was not selected.
pub(crate) fn delete_selected(
    tx: &mut Tx<'_>,
    root: &SelectedInstance,
) -> Result<DeleteInstanceResult, JobError> {
    let is_same = tx
        .conn
        .prepare_cached(
            "SELECT 1 FROM instances
             WHERE instance_id = ?1 AND incarnation = ?2 AND current_execution_id = ?3",
        )?
        .exists(params![root.id, root.incarnation, root.execution_id])?;
    if !is_same {
        return Err(inspect::not_found(&root.id));
    }
    let tree = inspect::tree(tx.conn, &root.id)?;
    delete_listed(tx, &tree, false)
}

/// Deletes old executions with their events, never the current or a running one. Values belong to
/// the instance and stay. Stops after as long as a slice lasts.
pub(crate) fn prune(
    tx: &mut Tx<'_>,
    instance: &str,
    options: &PruneOptions,
) -> Result<Slice<PruneResult>, JobError> {
    let started = Instant::now();
    let current: i64 = tx
        .conn
        .prepare_cached("SELECT current_execution_id FROM instances WHERE instance_id = ?1")?
        .query_row([instance], |row| row.get(0))
        .optional()?
        .ok_or_else(|| inspect::not_found(instance))?;
    let mut done = PruneResult::default();
    while started.elapsed() < limits::DELETION_SLICE_MAX {
        let prunable = prunable_executions(tx.conn, instance, current, options)?;
        if prunable.is_empty() {
            return Ok(Slice { done, is_last: true });
        }
        for execution_id in prunable {
            prune_one(tx.conn, instance, execution_id, &mut done)?;
        }
    }
    Ok(Slice { done, is_last: false })
}

/// Some of the executions to prune. Deleting them does not change which others are.
fn prunable_executions(
    conn: &Connection,
    instance: &str,
    current: i64,
    options: &PruneOptions,
) -> Result<Vec<i64>, JobError> {
    let keep = i64::from(options.keep_last.unwrap_or(0));
    let before = options.completed_before.map(to_db);
    Ok(conn
        .prepare_cached(
            "SELECT execution_id FROM executions
             WHERE instance_id = ?1 AND execution_id <> ?2 AND status <> 'Running'
                 AND (?3 IS NULL OR completed_at < ?3)
                 AND execution_id NOT IN (
                     SELECT execution_id FROM executions WHERE instance_id = ?1
                     ORDER BY execution_id DESC LIMIT ?4)
             LIMIT ?5",
        )?
        .query_map(
            params![instance, current, before, keep, limits::DELETED_PER_STATEMENT],
            |row| row.get(0),
        )?
        .collect::<Result<_, _>>()?)
}

fn prune_one(
    conn: &Connection,
    instance: &str,
    execution_id: i64,
    done: &mut PruneResult,
) -> Result<(), JobError> {
    if deletion_slices::is_large_execution(conn, instance, execution_id)? {
        deletion_slices::hide(conn, instance, Some(execution_id))?;
    } else {
        let events = conn
            .prepare_cached("DELETE FROM history WHERE instance_id = ?1 AND execution_id = ?2")?
            .execute(params![instance, execution_id])?;
        done.events_deleted += as_count(events);
    }
    let executions = conn
        .prepare_cached("DELETE FROM executions WHERE instance_id = ?1 AND execution_id = ?2")?
        .execute(params![instance, execution_id])?;
    done.executions_deleted += as_count(executions);
    Ok(())
}

impl SqliteProvider {
    /// Runs a deletion and removes what it hides.
    pub(crate) async fn delete_in_slices<D>(
        &self,
        operation: &'static str,
        mut delete: D,
    ) -> Result<DeleteInstanceResult, ProviderError>
    where
        D: FnMut(&mut Tx<'_>) -> Result<DeleteInstanceResult, JobError> + Send + 'static,
    {
        let slice = move |tx: &mut Tx<'_>, number| match number {
            0 => Ok(Slice { done: delete(tx)?, is_last: !deletion_slices::is_pending(tx.conn)? }),
            _ => deletion_slices::sweep(tx),
        };
        self.writer().run_in_slices(operation, slice).await
    }

    /// Prunes an instance and removes what that hides.
    pub(crate) async fn prune_in_slices(
        &self,
        operation: &'static str,
        instance: String,
        options: PruneOptions,
    ) -> Result<PruneResult, ProviderError> {
        let slice = move |tx: &mut Tx<'_>, _| {
            let mut pruned = prune(tx, &instance, &options)?;
            if pruned.is_last {
                let swept = deletion_slices::sweep(tx)?;
                pruned.done.events_deleted += swept.done.events_deleted;
                pruned.is_last = swept.is_last;
            }
            Ok(pruned)
        };
        let mut pruned: PruneResult = self.writer().run_in_slices(operation, slice).await?;
        pruned.instances_processed = 1;
        Ok(pruned)
    }
}
