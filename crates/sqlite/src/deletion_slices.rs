//! Removes rows that a deletion has hidden, slice by slice.
//!
//! A deletion of few rows is one transaction. Of many, the first transaction hides the root: it
//! removes the instance and lists it in `deletions`. No read returns what is listed and no fetch
//! leases it, so that a new instance of that id starts only after the old rows are gone. The rest
//! goes in short transactions: children are hidden, then the rows removed, histories last, and with
//! them queued starts of children that they name. A child whose first turn commits meanwhile has
//! the hidden parent, so that it is found. After a crash, the next process that opens the file, or
//! the next deletion, continues.

use std::time::Instant;

use duroxide_core::providers::DeleteInstanceResult;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::queues::ready_messages;
use crate::write::slices::Slice;
use crate::write::writer::Tx;
use crate::{limits, pending_children};

/// Hidden rows that wait for their removal.
struct Pending {
    id: i64,
    instance: String,
    execution_id: Option<i64>,
    last_message: i64,
}

/// Whether an instance, or this execution of it, is being deleted.
pub(crate) fn hides(
    conn: &Connection,
    instance: &str,
    execution_id: Option<i64>,
) -> Result<bool, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM deletions
             WHERE instance_id = ?1 AND (execution_id IS NULL OR execution_id = ?2)",
        )?
        .exists(params![instance, execution_id])?)
}

/// Lists an instance, or one execution of it, for removal.
pub(crate) fn hide(
    conn: &Connection,
    instance: &str,
    execution_id: Option<i64>,
) -> Result<(), JobError> {
    conn.prepare_cached(
        "INSERT INTO deletions (instance_id, execution_id, last_message)
         VALUES (?1, ?2, (SELECT coalesce(max(id), 0) FROM orchestrator_queue))",
    )?
    .execute(params![instance, execution_id])?;
    Ok(())
}

/// Hides a whole instance.
pub(crate) fn hide_instance(
    tx: &mut Tx<'_>,
    instance: &str,
    result: &mut DeleteInstanceResult,
) -> Result<(), JobError> {
    hide(tx.conn, instance, None)?;
    remove_instance(tx, instance, result)
}

/// Removes what makes an instance exist.
pub(crate) fn remove_instance(
    tx: &mut Tx<'_>,
    instance: &str,
    result: &mut DeleteInstanceResult,
) -> Result<(), JobError> {
    for sql in [
        "DELETE FROM kv_store WHERE instance_id = ?1",
        "DELETE FROM kv_delta WHERE instance_id = ?1",
        // Without its lease a turn in progress cannot recreate the instance.
        "DELETE FROM instance_locks WHERE instance_id = ?1",
        "DELETE FROM message_ids WHERE instance_id = ?1",
    ] {
        tx.conn.prepare_cached(sql)?.execute([instance])?;
    }
    let removed = tx
        .conn
        .prepare_cached("DELETE FROM instances WHERE instance_id = ?1")?
        .execute([instance])?;
    result.instances_deleted += removed as u64;
    tx.changes.instance(instance.to_owned());
    tx.changes.work_locks();
    Ok(())
}

/// Whether an instance has more rows than one transaction removes.
pub(crate) fn is_large(conn: &Connection, instance: &str) -> Result<bool, JobError> {
    for sql in [
        "SELECT 1 FROM history WHERE instance_id = ?1 LIMIT 1 OFFSET ?2",
        "SELECT 1 FROM orchestrator_queue WHERE instance_id = ?1 LIMIT 1 OFFSET ?2",
        "SELECT 1 FROM worker_queue WHERE instance_id = ?1 LIMIT 1 OFFSET ?2",
        "SELECT 1 FROM executions WHERE instance_id = ?1 LIMIT 1 OFFSET ?2",
    ] {
        if conn.prepare_cached(sql)?.exists(params![instance, limits::DELETED_AT_ONCE_MAX])? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether an execution has more events than one transaction removes.
pub(crate) fn is_large_execution(
    conn: &Connection,
    instance: &str,
    execution_id: i64,
) -> Result<bool, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT 1 FROM history WHERE instance_id = ?1 AND execution_id = ?2 LIMIT 1 OFFSET ?3",
        )?
        .exists(params![instance, execution_id, limits::DELETED_AT_ONCE_MAX])?)
}

/// Whether hidden rows wait for their removal.
pub(crate) fn is_pending(conn: &Connection) -> Result<bool, JobError> {
    Ok(next(conn)?.is_some())
}

/// Removes hidden rows for as long as a slice lasts.
pub(crate) fn sweep(tx: &mut Tx<'_>) -> Result<Slice<DeleteInstanceResult>, JobError> {
    let started = Instant::now();
    let mut done = DeleteInstanceResult::default();
    while started.elapsed() < limits::DELETION_SLICE_MAX {
        let Some(pending) = next(tx.conn)? else { return Ok(Slice { done, is_last: true }) };
        if !pending.hide_children(tx, &mut done)? && !pending.remove_some(tx, &mut done)? {
            pending.finish(tx)?;
        }
    }
    let is_last = next(tx.conn)?.is_none();
    Ok(Slice { done, is_last })
}

fn next(conn: &Connection) -> Result<Option<Pending>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT id, instance_id, execution_id, last_message FROM deletions ORDER BY id LIMIT 1",
        )?
        .query_row([], |row| {
            Ok(Pending {
                id: row.get(0)?,
                instance: row.get(1)?,
                execution_id: row.get(2)?,
                last_message: row.get(3)?,
            })
        })
        .optional()?)
}

impl Pending {
    /// Hides some children of an instance; false if it has none. They must not run without it.
    fn hide_children(
        &self,
        tx: &mut Tx<'_>,
        done: &mut DeleteInstanceResult,
    ) -> Result<bool, JobError> {
        if self.execution_id.is_some() {
            return Ok(false);
        }
        let children: Vec<String> = tx
            .conn
            .prepare_cached(
                "SELECT instance_id FROM instances WHERE parent_instance_id = ?1 LIMIT ?2",
            )?
            .query_map(params![self.instance, limits::DELETED_PER_STATEMENT], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for child in &children {
            hide_instance(tx, child, done)?;
        }
        Ok(!children.is_empty())
    }

    /// Removes some rows; false if none is left.
    fn remove_some(
        &self,
        tx: &mut Tx<'_>,
        done: &mut DeleteInstanceResult,
    ) -> Result<bool, JobError> {
        let Self { instance, execution_id, last_message, .. } = self;
        let (conn, rows) = (tx.conn, limits::DELETED_PER_STATEMENT);
        let removed = if let Some(execution_id) = execution_id {
            let count = conn
                .prepare_cached(
                    "DELETE FROM history WHERE rowid IN (SELECT rowid FROM history
                     WHERE instance_id = ?1 AND execution_id = ?2 LIMIT ?3)",
                )?
                .execute(params![instance, execution_id, rows])?;
            done.events_deleted += count as u64;
            count
        } else {
            // Activities first: while they run, they may still add messages.
            let mut count = conn
                .prepare_cached(
                    "DELETE FROM worker_queue WHERE id IN (
                     SELECT id FROM worker_queue WHERE instance_id = ?1 LIMIT ?2)",
                )?
                .execute(params![instance, rows])?;
            done.queue_messages_deleted += count as u64;
            if count == 0 {
                count = conn
                    .prepare_cached(
                        "DELETE FROM orchestrator_queue WHERE id IN (
                         SELECT id FROM orchestrator_queue
                         WHERE instance_id = ?1 AND id <= ?2 LIMIT ?3)",
                    )?
                    .execute(params![instance, last_message, rows])?;
                done.queue_messages_deleted += count as u64;
            }
            if count == 0 {
                let deleted = pending_children::delete_first(tx, instance, rows)?;
                done.queue_messages_deleted += deleted;
                count = conn
                    .prepare_cached(
                        "DELETE FROM history WHERE rowid IN (
                         SELECT rowid FROM history WHERE instance_id = ?1
                         ORDER BY execution_id, event_id LIMIT ?2)",
                    )?
                    .execute(params![instance, rows])?;
                done.events_deleted += count as u64;
            }
            if count == 0 {
                count = conn
                    .prepare_cached(
                        "DELETE FROM executions WHERE instance_id = ?1 AND execution_id IN (
                         SELECT execution_id FROM executions WHERE instance_id = ?1 LIMIT ?2)",
                    )?
                    .execute(params![instance, rows])?;
                done.executions_deleted += count as u64;
            }
            count
        };
        Ok(removed > 0)
    }

    /// Nothing refers to the old instance any more: its id is free.
    fn finish(&self, tx: &mut Tx<'_>) -> Result<(), JobError> {
        if self.execution_id.is_some() {
            tx.conn.prepare_cached("DELETE FROM deletions WHERE id = ?1")?.execute([self.id])?;
            return Ok(());
        }
        for sql in [
            // Results of activities and children that completed while they were being removed.
            "DELETE FROM orchestrator_queue
             WHERE instance_id = ?1
                 AND (work_item LIKE '{_Activity%' OR work_item LIKE '{_SubOrch%')",
            "DELETE FROM deletions WHERE instance_id = ?1",
        ] {
            tx.conn.prepare_cached(sql)?.execute([&self.instance])?;
        }
        // Messages for the new instance stood behind those of the old one, or had its route.
        ready_messages::list_rerouted(tx, &self.instance)?;
        tx.changes.orchestrator_queue();
        Ok(())
    }
}
