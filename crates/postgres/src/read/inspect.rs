//! Listings, details and totals.

use std::collections::BTreeMap;

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::kit::{decode_start_event, message_variant};
use duroxide_core::providers::{
    ExecutionInfo, HandlerVersionSpread, InstanceInfo, ParkedMessage, ProviderErrorKind,
    QueueDepths, StoreGauges, SystemMetrics, UNPINNED_VERSION,
};
use duroxide_core::{EventKind, SystemStats};
use tokio_postgres::Row;

use crate::connect::connection::Params;
use crate::error::JobError;
use crate::schema::namespace::quoted;
use crate::schema::number::{count_from_db, from_db, to_db};
use crate::schema::stored_text::{from_stored, stored, to_stored};
use crate::store::Store;
use crate::{PostgresProvider, limits};

/// All instances, newest first.
pub(crate) async fn instances(store: &Store) -> Result<Vec<String>, JobError> {
    let sql = "SELECT instance_id FROM {schema}.instances ORDER BY created_at DESC, number DESC";
    strings(store, sql, &[]).await
}

/// Instances with this status, newest first.
pub(crate) async fn instances_by_status(
    store: &Store,
    status: &str,
) -> Result<Vec<String>, JobError> {
    let sql = "SELECT i.instance_id FROM {schema}.instances i
         JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE {schema}.instance_status{v}(i.instance_id, e.status) = $1
         ORDER BY i.created_at DESC, i.number DESC";
    strings(store, sql, &[&to_stored(status)]).await
}

/// Executions of an instance, ascending.
pub(crate) async fn executions(store: &Store, instance: &str) -> Result<Vec<u64>, JobError> {
    let sql = "SELECT execution_id FROM {schema}.executions WHERE instance_id = $1
             AND NOT EXISTS (
                 SELECT 1 FROM {schema}.deletions WHERE instance_id = $1 AND execution_id = 0)
         ORDER BY execution_id";
    let rows = store.query(sql, &[&to_stored(instance)]).await?;
    Ok(rows.iter().map(|row| from_db(row.get("execution_id"))).collect())
}

/// Direct children, oldest first.
pub(crate) async fn children(store: &Store, instance: &str) -> Result<Vec<String>, JobError> {
    let sql = "SELECT instance_id FROM {schema}.instances WHERE parent_instance_id = $1
         ORDER BY created_at, number";
    strings(store, sql, &[&to_stored(instance)]).await
}

/// The parent of a known instance.
pub(crate) async fn parent(store: &Store, instance: &str) -> Result<Option<String>, JobError> {
    let sql = "SELECT parent_instance_id FROM {schema}.instances WHERE instance_id = $1";
    let rows = store.query(sql, &[&to_stored(instance)]).await?;
    let row = rows.first().ok_or_else(|| not_found(instance))?;
    Ok(row.get::<_, Option<String>>("parent_instance_id").map(from_stored))
}

/// The error for an unknown instance.
pub(crate) fn not_found(instance: &str) -> JobError {
    JobError::refused(ProviderErrorKind::NotFound, format!("Instance {instance} not found"))
}

/// An instance and all its descendants, root first.
pub(crate) async fn tree(store: &Store, root: &str) -> Result<Vec<String>, JobError> {
    // By depth and then by age, as if the children of each instance were listed in turn.
    let sql = "WITH RECURSIVE tree (instance_id, path) AS (
             SELECT $1::TEXT COLLATE \"C\", ARRAY[]::BIGINT[]
             UNION ALL
             SELECT i.instance_id, tree.path || i.number FROM {schema}.instances i
             JOIN tree ON i.parent_instance_id = tree.instance_id
             WHERE i.number <> ALL (tree.path)
         )
         SELECT instance_id FROM tree ORDER BY cardinality(path), path LIMIT $2";
    strings(store, sql, &[&to_stored(root), &limits::TREE_SIZE_MAX]).await
}

/// Instances and all their descendants, each before its own. They may be more than a tree can have.
pub(crate) async fn trees(store: &Store, roots: &[String]) -> Result<Vec<String>, JobError> {
    // Children are looked up: a limit keeps the server from joining whole tables.
    let sql = "WITH RECURSIVE tree (instance_id, path) AS (
             SELECT r.id COLLATE \"C\", ARRAY[]::BIGINT[] FROM unnest($1::TEXT[]) AS r (id)
             UNION ALL
             SELECT c.instance_id, tree.path || c.number FROM tree
             CROSS JOIN LATERAL (
                 SELECT i.instance_id, i.number FROM {schema}.instances i
                 WHERE i.parent_instance_id = tree.instance_id LIMIT $2) AS c
             WHERE c.number <> ALL (tree.path)
         )
         SELECT instance_id FROM tree ORDER BY cardinality(path) LIMIT $2";
    let roots: Vec<String> = roots.iter().map(|root| stored(root)).collect();
    strings(store, sql, &[&roots, &limits::TREE_SIZE_MAX]).await
}

/// One instance.
pub(crate) async fn instance_info(store: &Store, instance: &str) -> Result<InstanceInfo, JobError> {
    let sql = "SELECT i.orchestration_name, i.orchestration_version, i.current_execution_id,
             coalesce({schema}.instance_status{v}(i.instance_id, e.status), 'Unknown') AS status,
             e.output, i.created_at, i.updated_at, i.parent_instance_id
         FROM {schema}.instances i
         LEFT JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
         WHERE i.instance_id = $1";
    let rows = store.query(sql, &[&to_stored(instance)]).await?;
    let row = rows.first().ok_or_else(|| not_found(instance))?;
    let status = from_stored(row.get("status"));
    let output = row.get::<_, Option<String>>("output").map(from_stored);
    Ok(InstanceInfo {
        instance_id: instance.to_owned(),
        orchestration_name: from_stored(row.get("orchestration_name")),
        orchestration_version: from_stored(row.get("orchestration_version")),
        current_execution_id: from_db(row.get("current_execution_id")),
        output: output.filter(|_| status != ExecutionStatus::Running.as_str()),
        status,
        created_at: from_db(row.get("created_at")),
        updated_at: from_db(row.get("updated_at")),
        parent_instance_id: row.get::<_, Option<String>>("parent_instance_id").map(from_stored),
    })
}

/// One execution.
pub(crate) async fn execution_info(
    store: &Store,
    instance: &str,
    execution_id: u64,
) -> Result<ExecutionInfo, JobError> {
    let sql = "SELECT status, output, started_at, completed_at,
             (SELECT count(*) FROM {schema}.history
              WHERE instance_id = $1 AND execution_id = $2) AS events
         FROM {schema}.executions WHERE instance_id = $1 AND execution_id = $2
             AND NOT EXISTS (
                 SELECT 1 FROM {schema}.deletions WHERE instance_id = $1 AND execution_id = 0)";
    let rows = store.query(sql, &[&to_stored(instance), &to_db(execution_id)]).await?;
    let row = rows.first().ok_or_else(|| {
        JobError::refused(
            ProviderErrorKind::NotFound,
            format!("Execution {execution_id} not found for instance {instance}"),
        )
    })?;
    Ok(ExecutionInfo {
        execution_id,
        status: from_stored(row.get("status")),
        output: row.get::<_, Option<String>>("output").map(from_stored),
        started_at: from_db(row.get("started_at")),
        completed_at: row.get::<_, Option<i64>>("completed_at").map(from_db),
        event_count: count_from_db(row.get("events")),
    })
}

/// Totals over the store.
pub(crate) async fn system_metrics(store: &Store) -> Result<SystemMetrics, JobError> {
    let sql = "SELECT (SELECT count(*) FROM {schema}.instances) AS instances,
             (SELECT count(*) FROM {schema}.executions) AS executions,
             count(*) FILTER (WHERE
                 {schema}.instance_status{v}(i.instance_id, e.status) = 'Running') AS running,
             count(*) FILTER (WHERE e.status = 'Completed') AS completed,
             count(*) FILTER (WHERE e.status = 'Failed') AS failed,
             (SELECT count(*) FROM {schema}.history) AS events
         FROM {schema}.instances i
         JOIN {schema}.executions e
             ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id";
    let rows = store.query(sql, &[]).await?;
    let number = |column: &str| rows.first().map_or(0, |row| from_db(row.get(column)));
    Ok(SystemMetrics {
        total_instances: number("instances"),
        total_executions: number("executions"),
        running_instances: number("running"),
        completed_instances: number("completed"),
        failed_instances: number("failed"),
        total_events: number("events"),
    })
}

/// All rows of the queues, with leased, hidden and parked ones.
pub(crate) async fn queue_depths(store: &Store) -> Result<QueueDepths, JobError> {
    let sql = "SELECT (SELECT count(*) FROM {schema}.orchestrator_queue) AS messages,
             (SELECT count(*) FROM {schema}.worker_queue) AS activities";
    let rows = store.query(sql, &[]).await?;
    let number = |column: &str| rows.first().map_or(0, |row| count_from_db(row.get(column)));
    Ok(QueueDepths {
        orchestrator_queue: number("messages"),
        worker_queue: number("activities"),
        timer_queue: 0,
    })
}

/// What the gauges of a node show. Each part reads a limited number of rows.
pub(crate) async fn gauges(store: &Store) -> Result<StoreGauges, JobError> {
    let sql = "SELECT (SELECT count(*) FROM (
                 SELECT 1 FROM {schema}.executions WHERE status = 'Running' LIMIT $2) AS r
             ) AS running,
             (SELECT count(*) FROM (
                 SELECT 1 FROM {schema}.orchestrator_queue WHERE parked LIMIT $2) AS p
             ) AS parked,
             (SELECT count(*) FROM (SELECT 1 FROM {schema}.worker_queue LIMIT $2) AS w
             ) AS activities,
             (SELECT count(*) FROM (
                 SELECT 1 FROM {schema}.instances WHERE suspended_since IS NOT NULL LIMIT $2) AS s
             ) AS suspended,
             count(*) FILTER (WHERE NOT m.parked AND m.visible_at <= m.now) AS ready,
             count(*) FILTER (WHERE NOT m.parked AND m.visible_at > m.now) AS delayed
         FROM (
             SELECT q.parked, q.visible_at, c.now
             FROM (SELECT coalesce($1, {schema}.now_ms()) AS now) AS c,
                 {schema}.orchestrator_queue q
             LIMIT $2) AS m";
    let rows = store.query(sql, &[&store.now(), &limits::GAUGE_ROWS_MAX]).await?;
    let number = |column: &str| rows.first().map_or(0, |row| from_db(row.get(column)));
    let mut gauges = StoreGauges::default();
    gauges.running_instances = number("running");
    gauges.ready_messages = number("ready");
    gauges.delayed_messages = number("delayed");
    gauges.parked_messages = number("parked");
    gauges.activities = number("activities");
    gauges.suspended_instances = number("suspended");
    Ok(gauges)
}

/// Counts the running instances `i`, with their current executions `e`, by these columns. Only what
/// runs is read, and the queued starts: an instance runs while the start of its next execution is
/// queued.
macro_rules! running_by {
    ($columns:literal, $groups:literal) => {
        concat!(
            "SELECT ",
            $columns,
            ", count(*) AS instances FROM (
                 SELECT r.instance_id, r.execution_id FROM {schema}.executions r
                 WHERE r.status = 'Running'
                 UNION
                 SELECT n.instance_id, n.current_execution_id
                 FROM {schema}.orchestrator_queue q
                 JOIN {schema}.instances n ON n.instance_id = q.instance_id
                 JOIN {schema}.executions c ON c.instance_id = n.instance_id
                     AND c.execution_id = n.current_execution_id
                 WHERE q.kind = 1 AND left(q.work_item, 16) LIKE '_\"ContinueAsNew\"'
                     AND c.status = 'ContinuedAsNew') AS r
             JOIN {schema}.instances i
                 ON i.instance_id = r.instance_id AND i.current_execution_id = r.execution_id
             JOIN {schema}.executions e
                 ON e.instance_id = r.instance_id AND e.execution_id = r.execution_id
             GROUP BY ",
            $groups
        )
    };
}

/// Running instances by the version that their current execution is pinned to.
pub(crate) async fn version_spread(store: &Store) -> Result<BTreeMap<String, u64>, JobError> {
    let sql = running_by!("coalesce(e.duroxide_version, $1) AS version", "e.duroxide_version");
    let rows = store.query(sql, &[&UNPINNED_VERSION]).await?;
    Ok(rows.iter().map(|row| (row.get("version"), from_db(row.get("instances")))).collect())
}

/// Running instances by their orchestration and its version.
pub(crate) async fn handler_spread(store: &Store) -> Result<HandlerVersionSpread, JobError> {
    let sql = running_by!(
        "i.orchestration_name, i.orchestration_version",
        "i.orchestration_name, i.orchestration_version"
    );
    let mut spread = HandlerVersionSpread::new();
    for row in store.query(sql, &[]).await? {
        let versions = spread.entry(from_stored(row.get("orchestration_name"))).or_default();
        let version = from_stored(row.get("orchestration_version"));
        *versions.entry(version).or_insert(0) += from_db(row.get("instances"));
    }
    Ok(spread)
}

/// Messages whose instance does not exist, oldest first. Their index asks for positive numbers.
pub(crate) async fn parked(store: &Store, limit: u32) -> Result<Vec<ParkedMessage>, JobError> {
    let sql = "SELECT instance_id, work_item, created_at FROM {schema}.orchestrator_queue
         WHERE parked AND id > 0 ORDER BY id LIMIT $1";
    let rows = store.query(sql, &[&i64::from(limit)]).await?;
    Ok(rows
        .iter()
        .map(|row| {
            ParkedMessage::new(
                from_stored(row.get("instance_id")),
                message_variant(row.get("work_item")),
                from_db(row.get("created_at")),
            )
        })
        .collect())
}

/// Custom status and its version, if the version is newer than what the caller has seen.
pub(crate) async fn custom_status(
    store: &Store,
    instance: &str,
    last_seen: u64,
) -> Result<Option<(Option<String>, u64)>, JobError> {
    let sql = "SELECT custom_status, custom_status_version FROM {schema}.instances
         WHERE instance_id = $1 AND custom_status_version > $2";
    let rows = store.query(sql, &[&to_stored(instance), &to_db(last_seen)]).await?;
    let status = |row: &Row| {
        (
            row.get::<_, Option<String>>("custom_status").map(from_stored),
            from_db(row.get("custom_status_version")),
        )
    };
    Ok(rows.first().map(status))
}

/// Size of an instance.
pub(crate) async fn stats(store: &Store, instance: &str) -> Result<Option<SystemStats>, JobError> {
    let sql = "SELECT h.events, h.bytes, kv.keys, kv.bytes AS kv_bytes, (
             SELECT f.event_data FROM {schema}.history f
             WHERE f.instance_id = $1 AND f.execution_id = i.current_execution_id
             ORDER BY f.event_id LIMIT 1) AS first
         FROM {schema}.instances i
         CROSS JOIN LATERAL (
             SELECT count(*) AS events, coalesce(sum(length(event_data)), 0)::BIGINT AS bytes
             FROM {schema}.history
             WHERE instance_id = $1 AND execution_id = i.current_execution_id) AS h
         CROSS JOIN LATERAL (
             SELECT count(*) AS keys, coalesce(sum(length(value)), 0)::BIGINT AS bytes
             FROM (
                 SELECT value FROM {schema}.kv_delta
                 WHERE instance_id = $1 AND value IS NOT NULL
                     AND NOT (key >= '__duroxide_attribute:' AND key < '__duroxide_attribute;')
                 UNION ALL
                 SELECT s.value FROM {schema}.kv_store s
                 WHERE s.instance_id = $1
                     AND NOT (s.key >= '__duroxide_attribute:' AND s.key < '__duroxide_attribute;')
                     AND NOT EXISTS (
                     SELECT 1 FROM {schema}.kv_delta d
                     WHERE d.instance_id = $1 AND d.key = s.key)) AS live) AS kv
         WHERE i.instance_id = $1";
    let rows = store.query(sql, &[&to_stored(instance)]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    Ok(Some(SystemStats {
        history_event_count: from_db(row.get("events")),
        history_size_bytes: from_db(row.get("bytes")),
        queue_pending_count: carried_messages(row.get("first")),
        kv_user_key_count: from_db(row.get("keys")),
        kv_total_value_bytes: from_db(row.get("kv_bytes")),
    }))
}

fn carried_messages(first: Option<&str>) -> u64 {
    // A start that cannot be decoded names none.
    let start = decode_start_event(first).ok().flatten().map(|event| event.kind);
    let Some(EventKind::OrchestrationStarted { carry_forward_events: Some(carried), .. }) = start
    else {
        return 0;
    };
    carried.len().try_into().unwrap_or(u64::MAX)
}

impl PostgresProvider {
    /// Every table as text, for debugging.
    pub async fn debug_dump(&self) -> String {
        dump(self.store()).await.unwrap_or_else(|error| format!("cannot dump: {error}"))
    }
}

async fn dump(store: &Store) -> Result<String, JobError> {
    let sql = "SELECT tablename::TEXT AS name FROM pg_tables WHERE schemaname = $1 ORDER BY 1";
    let tables = store.query(sql, &[&store.schema.name()]).await?;
    let mut out = String::new();
    for table in tables {
        let table: String = table.get("name");
        out.push_str(&format!("== {table} ==\n"));
        // Others may have added tables of their own.
        let sql = format!(
            "SELECT to_json(t)::TEXT AS row FROM {}.{} t LIMIT $1",
            store.schema.quoted(),
            quoted(&table)
        );
        for row in store.session().await?.query(&sql, &[&limits::DUMP_ROWS_MAX]).await? {
            let text: String = row.get("row");
            out.extend(text.chars().take(limits::DUMP_TEXT_MAX));
            out.push('\n');
        }
    }
    Ok(out)
}

async fn strings(
    store: &Store,
    sql: &'static str,
    params: Params<'_>,
) -> Result<Vec<String>, JobError> {
    let rows = store.query(sql, params).await?;
    Ok(rows.iter().map(|row| from_stored(row.get("instance_id"))).collect())
}
