//! Listings, details and totals.

use std::collections::BTreeMap;

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::kit::message_variant;
use duroxide_core::providers::{
    ExecutionInfo, HandlerVersionSpread, InstanceInfo, ParkedMessage, ProviderErrorKind,
    QueueDepths, StoreGauges, SystemMetrics, UNPINNED_VERSION,
};
use duroxide_core::{EventKind, SystemStats};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, params};

use crate::error::JobError;
use crate::limits;
use crate::read::history;
use crate::read::status::instance_status;
use crate::schema::number::{count_from_db, from_db, to_db};
use crate::schema::stored_text::stored_text;

/// All instances, newest first.
pub(crate) fn instances(conn: &Connection) -> Result<Vec<String>, JobError> {
    strings(conn, "SELECT instance_id FROM instances ORDER BY created_at DESC, rowid DESC", [])
}

/// Instances with this status, newest first.
pub(crate) fn instances_by_status(
    conn: &Connection,
    status: &str,
) -> Result<Vec<String>, JobError> {
    strings(
        conn,
        concat!(
            "SELECT i.instance_id FROM instances i
             JOIN executions e
                 ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
             WHERE ",
            instance_status!(),
            " = ?1 ORDER BY i.created_at DESC, i.rowid DESC"
        ),
        [status],
    )
}

/// Executions of an instance, ascending.
pub(crate) fn executions(conn: &Connection, instance: &str) -> Result<Vec<u64>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT execution_id FROM executions WHERE instance_id = ?1 AND NOT EXISTS (
                 SELECT 1 FROM deletions d WHERE d.instance_id = ?1 AND d.execution_id IS NULL)
             ORDER BY execution_id",
        )?
        .query_map([instance], |row| row.get(0).map(from_db))?
        .collect::<Result<_, _>>()?)
}

/// Direct children, oldest first.
pub(crate) fn children(conn: &Connection, instance: &str) -> Result<Vec<String>, JobError> {
    strings(
        conn,
        "SELECT instance_id FROM instances WHERE parent_instance_id = ?1
         ORDER BY created_at, rowid",
        [instance],
    )
}

/// The parent of an instance that exists.
pub(crate) fn parent(conn: &Connection, instance: &str) -> Result<Option<String>, JobError> {
    conn.prepare_cached("SELECT parent_instance_id FROM instances WHERE instance_id = ?1")?
        .query_row([instance], |row| row.get(0))
        .optional()?
        .ok_or_else(|| not_found(instance))
}

/// The error for an unknown instance.
pub(crate) fn not_found(instance: &str) -> JobError {
    JobError::refused(ProviderErrorKind::NotFound, format!("Instance {instance} not found"))
}

/// An instance and all its descendants, root first.
pub(crate) fn tree(conn: &Connection, root: &str) -> Result<Vec<String>, JobError> {
    strings(
        conn,
        &format!(
            "WITH RECURSIVE tree (id) AS (
                 SELECT ?1
                 UNION
                 SELECT i.instance_id FROM instances i JOIN tree ON i.parent_instance_id = tree.id
             )
             SELECT id FROM tree LIMIT {}",
            limits::TREE_SIZE_MAX
        ),
        [root],
    )
}

/// One instance.
pub(crate) fn instance_info(conn: &Connection, instance: &str) -> Result<InstanceInfo, JobError> {
    conn.prepare_cached(concat!(
        "SELECT i.orchestration_name, i.orchestration_version, i.current_execution_id,
             coalesce(",
        instance_status!(),
        ", 'Unknown'), e.output, i.created_at, i.updated_at, i.parent_instance_id
         FROM instances i
         LEFT JOIN executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE i.instance_id = ?1",
    ))?
    .query_row([instance], |row| {
        let status: String = row.get(3)?;
        let output: Option<String> = row.get(4)?;
        Ok(InstanceInfo {
            instance_id: instance.to_owned(),
            orchestration_name: row.get(0)?,
            orchestration_version: row.get(1)?,
            current_execution_id: from_db(row.get(2)?),
            output: output.filter(|_| status != ExecutionStatus::Running.as_str()),
            status,
            created_at: from_db(row.get(5)?),
            updated_at: from_db(row.get(6)?),
            parent_instance_id: row.get(7)?,
        })
    })
    .optional()?
    .ok_or_else(|| not_found(instance))
}

/// One execution.
pub(crate) fn execution_info(
    conn: &Connection,
    instance: &str,
    execution_id: u64,
) -> Result<ExecutionInfo, JobError> {
    conn.prepare_cached(
        "SELECT status, output, started_at, completed_at,
             (SELECT count(*) FROM history WHERE instance_id = ?1 AND execution_id = ?2)
         FROM executions WHERE instance_id = ?1 AND execution_id = ?2 AND NOT EXISTS (
             SELECT 1 FROM deletions d WHERE d.instance_id = ?1 AND d.execution_id IS NULL)",
    )?
    .query_row(params![instance, to_db(execution_id)], |row| {
        Ok(ExecutionInfo {
            execution_id,
            status: row.get(0)?,
            output: row.get(1)?,
            started_at: from_db(row.get(2)?),
            completed_at: row.get::<_, Option<i64>>(3)?.map(from_db),
            event_count: count_from_db(row.get(4)?),
        })
    })
    .optional()?
    .ok_or_else(|| {
        JobError::refused(
            ProviderErrorKind::NotFound,
            format!("Execution {execution_id} not found for instance {instance}"),
        )
    })
}

/// Totals over the store.
pub(crate) fn system_metrics(conn: &Connection) -> Result<SystemMetrics, JobError> {
    Ok(conn
        .prepare_cached(concat!(
            "SELECT (SELECT count(*) FROM instances), (SELECT count(*) FROM executions),
                 count(*) FILTER (WHERE ",
            instance_status!(),
            " = 'Running'),
                 count(*) FILTER (WHERE e.status = 'Completed'),
                 count(*) FILTER (WHERE e.status = 'Failed'),
                 (SELECT count(*) FROM history)
             FROM instances i
             JOIN executions e
                 ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id",
        ))?
        .query_row([], |row| {
            Ok(SystemMetrics {
                total_instances: from_db(row.get(0)?),
                total_executions: from_db(row.get(1)?),
                running_instances: from_db(row.get(2)?),
                completed_instances: from_db(row.get(3)?),
                failed_instances: from_db(row.get(4)?),
                total_events: from_db(row.get(5)?),
            })
        })?)
}

/// Every row of the queues, including leased, hidden and parked ones. Timers are messages of the
/// orchestrator queue; they have no separate queue.
pub(crate) fn queue_depths(conn: &Connection) -> Result<QueueDepths, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT (SELECT count(*) FROM orchestrator_queue),
                 (SELECT count(*) FROM worker_queue)",
        )?
        .query_row([], |row| {
            Ok(QueueDepths {
                orchestrator_queue: count_from_db(row.get(0)?),
                worker_queue: count_from_db(row.get(1)?),
                timer_queue: 0,
            })
        })?)
}

/// What the gauges of a node show. Each part reads a limited number of rows.
pub(crate) fn gauges(conn: &Connection, now: u64) -> Result<StoreGauges, JobError> {
    let mut gauges = StoreGauges::default();
    conn.prepare_cached(
        "SELECT
             (SELECT count(*) FROM (
                 SELECT 1 FROM executions INDEXED BY idx_executions_running
                 WHERE status = 'Running' LIMIT ?2)),
             (SELECT count(*) FROM (
                 SELECT 1 FROM orchestrator_queue INDEXED BY idx_orch_parked
                 WHERE parked = 1 LIMIT ?2)),
             (SELECT count(*) FROM (SELECT 1 FROM worker_queue LIMIT ?2)),
             (SELECT count(*) FROM (
                 SELECT 1 FROM instances INDEXED BY idx_instances_suspended
                 WHERE suspended_since IS NOT NULL LIMIT ?2)),
             coalesce(sum(parked = 0 AND visible_at <= ?1), 0),
             coalesce(sum(parked = 0 AND visible_at > ?1), 0)
         FROM (
             SELECT parked, visible_at FROM orchestrator_queue INDEXED BY idx_orch_instance
             LIMIT ?2)",
    )?
    .query_row(params![to_db(now), limits::GAUGE_ROWS_MAX], |row| {
        gauges.running_instances = from_db(row.get(0)?);
        gauges.parked_messages = from_db(row.get(1)?);
        gauges.activities = from_db(row.get(2)?);
        gauges.suspended_instances = from_db(row.get(3)?);
        gauges.ready_messages = from_db(row.get(4)?);
        gauges.delayed_messages = from_db(row.get(5)?);
        Ok(())
    })?;
    Ok(gauges)
}

/// The running instances `i` with their current executions `e`, in SQL. Only what runs is read, and
/// the queued starts: an instance runs while the start of its next execution is queued.
macro_rules! running {
    ($columns:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM executions e INDEXED BY idx_executions_running
             JOIN instances i
                 ON i.instance_id = e.instance_id AND i.current_execution_id = e.execution_id
             WHERE e.status = 'Running'
             UNION ALL SELECT ",
            $columns,
            " FROM (
                 SELECT DISTINCT q.instance_id FROM orchestrator_queue q INDEXED BY idx_orch_start
                 WHERE q.start_rank > 0 AND q.start_rank = 1) AS c
             JOIN instances i ON i.instance_id = c.instance_id
             JOIN executions e
                 ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
             WHERE e.status = 'ContinuedAsNew'"
        )
    };
}

/// Running instances by the version that their current execution is pinned to.
pub(crate) fn version_spread(conn: &Connection) -> Result<BTreeMap<String, u64>, JobError> {
    Ok(conn
        .prepare_cached(concat!(
            "SELECT coalesce(duroxide_version, ?1), count(*) FROM (",
            running!("e.duroxide_version"),
            ") GROUP BY duroxide_version",
        ))?
        .query_map([UNPINNED_VERSION], |row| Ok((row.get(0)?, from_db(row.get(1)?))))?
        .collect::<Result<_, _>>()?)
}

/// Running instances by their orchestration and its version.
pub(crate) fn handler_spread(conn: &Connection) -> Result<HandlerVersionSpread, JobError> {
    let mut statement = conn.prepare_cached(concat!(
        "SELECT orchestration_name, orchestration_version, count(*) FROM (",
        running!("i.orchestration_name, i.orchestration_version"),
        ") GROUP BY orchestration_name, orchestration_version",
    ))?;
    let mut rows = statement.query([])?;
    let mut spread = HandlerVersionSpread::new();
    while let Some(row) = rows.next()? {
        let versions = spread.entry(stored_text(row, 0)?).or_default();
        *versions.entry(stored_text(row, 1)?).or_insert(0) += from_db(row.get(2)?);
    }
    Ok(spread)
}

/// Messages that are parked for an unknown instance, oldest first.
pub(crate) fn parked(conn: &Connection, limit: u32) -> Result<Vec<ParkedMessage>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT instance_id, work_item, created_at FROM orchestrator_queue
             WHERE parked = 1 ORDER BY id LIMIT ?1",
        )?
        .query_map([limit], |row| {
            let text: String = row.get(1)?;
            Ok(ParkedMessage::new(
                row.get::<_, String>(0)?,
                message_variant(&text),
                from_db(row.get(2)?),
            ))
        })?
        .collect::<Result<_, _>>()?)
}

/// Custom status and its version, if the version is newer than what the caller has seen.
pub(crate) fn custom_status(
    conn: &Connection,
    instance: &str,
    last_seen: u64,
) -> Result<Option<(Option<String>, u64)>, JobError> {
    Ok(conn
        .prepare_cached(
            "SELECT custom_status, custom_status_version FROM instances
             WHERE instance_id = ?1 AND custom_status_version > ?2",
        )?
        .query_row(params![instance, to_db(last_seen)], |row| {
            Ok((row.get(0)?, from_db(row.get(1)?)))
        })
        .optional()?)
}

/// Size of an instance; history figures are those of its current execution.
pub(crate) fn stats(conn: &Connection, instance: &str) -> Result<Option<SystemStats>, JobError> {
    let known = conn
        .prepare_cached("SELECT 1 FROM instances WHERE instance_id = ?1")?
        .exists([instance])?;
    if !known {
        return Ok(None);
    }
    let execution_id = history::current_execution(conn, instance)?;
    let (history_event_count, history_size_bytes) = conn
        .prepare_cached(
            "SELECT count(*), coalesce(sum(length(event_data)), 0) FROM history
             WHERE instance_id = ?1 AND execution_id = ?2",
        )?
        .query_row(params![instance, to_db(execution_id)], |row| {
            Ok((from_db(row.get(0)?), from_db(row.get(1)?)))
        })?;
    let (kv_user_key_count, kv_total_value_bytes) = conn
        .prepare_cached(
            "SELECT count(*), coalesce(sum(length(value)), 0) FROM (
                 SELECT value FROM kv_delta WHERE instance_id = ?1 AND value IS NOT NULL
                     AND NOT (key >= '__duroxide_attribute:' AND key < '__duroxide_attribute;')
                 UNION ALL
                 SELECT s.value FROM kv_store s
                 WHERE s.instance_id = ?1
                     AND NOT (s.key >= '__duroxide_attribute:' AND s.key < '__duroxide_attribute;')
                     AND NOT EXISTS (
                     SELECT 1 FROM kv_delta d WHERE d.instance_id = ?1 AND d.key = s.key))",
        )?
        .query_row([instance], |row| Ok((from_db(row.get(0)?), from_db(row.get(1)?))))?;
    Ok(Some(SystemStats {
        history_event_count,
        history_size_bytes,
        queue_pending_count: carried_messages(conn, instance)?,
        kv_user_key_count,
        kv_total_value_bytes,
    }))
}

/// Queue messages that the execution was started with.
fn carried_messages(conn: &Connection, instance: &str) -> Result<u64, JobError> {
    let start = match history::start_event(conn, instance) {
        // A start that cannot be decoded names none.
        Err(JobError::Row(_)) => None,
        start => start?,
    };
    let Some(EventKind::OrchestrationStarted { carry_forward_events: Some(carried), .. }) =
        start.map(|event| event.kind)
    else {
        return Ok(0);
    };
    Ok(carried.len().try_into().unwrap_or(u64::MAX))
}

/// Every table as text, for debugging.
pub(crate) fn dump(conn: &Connection) -> Result<String, JobError> {
    let tables = strings(
        conn,
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
         ORDER BY name",
        [],
    )?;
    let mut out = String::new();
    for table in tables {
        dump_table(conn, &table, &mut out)?;
    }
    Ok(out)
}

fn dump_table(conn: &Connection, table: &str, out: &mut String) -> Result<(), JobError> {
    // Other programs may have tables of any name in the file.
    let quoted = table.replace('"', "\"\"");
    let mut statement = conn.prepare(&format!("SELECT * FROM \"{quoted}\""))?;
    let name = |index| statement.column_name(index).map(ToOwned::to_owned);
    let columns: Vec<String> = (0..statement.column_count()).map(name).collect::<Result<_, _>>()?;
    out.push_str(&format!("== {table} ==\n"));
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        for (index, column) in columns.iter().enumerate() {
            let text = match row.get_ref(index)? {
                ValueRef::Null => continue,
                ValueRef::Integer(value) => value.to_string(),
                ValueRef::Real(value) => value.to_string(),
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                    String::from_utf8_lossy(bytes).chars().take(limits::DUMP_TEXT_MAX).collect()
                }
            };
            out.push_str(&format!("{column}={text} "));
        }
        out.push('\n');
    }
    Ok(())
}

fn strings(
    conn: &Connection,
    sql: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<String>, JobError> {
    Ok(conn.prepare_cached(sql)?.query_map(params, |row| row.get(0))?.collect::<Result<_, _>>()?)
}
