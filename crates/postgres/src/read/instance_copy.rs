//! What is stored of one instance, as it is carried into another store.

use duroxide_core::providers::{
    CopiedActivity, CopiedEvent, CopiedExecution, CopiedKey, CopiedMessage, CopiedMessageId,
    CopiedProgress, CopySection, InstanceCopy, InstanceCopyQuery, InstanceHead,
};
use tokio_postgres::Row;

use crate::connect::connection::Params;
use crate::error::JobError;
use crate::limits;
use crate::read::history;
use crate::schema::number::{attempts, from_db, to_db};
use crate::schema::stored_text::{from_stored, to_stored};
use crate::store::Store;
use crate::suspension;

/// One part of a section.
pub(crate) async fn part(
    store: &Store,
    query: &InstanceCopyQuery,
) -> Result<InstanceCopy, JobError> {
    let instance = &*to_stored(&query.instance);
    let mut copy = InstanceCopy::new(query.instance.as_str());
    let (rows_max, bytes_max) = (&limits::EVENTS_PER_READ_MAX, &limits::BYTES_PER_READ_MAX);
    match &query.section {
        CopySection::Head => copy.head = head(store, &query.instance).await?,
        CopySection::Executions { after } => {
            let values: Params<'_> = &[&instance, &to_db(*after), rows_max, bytes_max];
            copy.executions = read(store, EXECUTIONS_SQL, values, execution).await?;
        }
        CopySection::Events { execution_id, after } => {
            let next = to_db(*after).saturating_add(1);
            let part = history::part_from(store, instance, to_db(*execution_id), next).await?;
            let copied = |(id, text)| CopiedEvent::new(*execution_id, from_db(id), text);
            copy.events = part.rows.into_iter().map(copied).collect();
        }
        CopySection::Keys => copy.keys = read(store, KEYS_SQL, &[&instance], key).await?,
        CopySection::MessageIds { after } => {
            let after = to_stored(after.as_deref().unwrap_or_default());
            let values: Params<'_> = &[&instance, &after, rows_max];
            copy.message_ids = read(store, IDS_SQL, values, message_id).await?;
        }
        CopySection::Activities { after } => {
            let values: Params<'_> = &[&instance, &to_db(*after), rows_max, bytes_max];
            copy.activities = read(store, ACTIVITIES_SQL, values, activity).await?;
        }
        CopySection::Messages { after } => {
            let values: Params<'_> = &[&instance, &to_db(*after), rows_max, bytes_max];
            copy.messages = read(store, MESSAGES_SQL, values, message).await?;
        }
        _ => return Err(JobError::Broken("a section that this provider does not know".into())),
    }
    Ok(copy)
}

async fn read<T>(
    store: &Store,
    sql: &'static str,
    values: Params<'_>,
    decode: fn(&Row) -> T,
) -> Result<Vec<T>, JobError> {
    Ok(store.query(sql, values).await?.iter().map(decode).collect())
}

async fn head(store: &Store, instance: &str) -> Result<Option<InstanceHead>, JobError> {
    let sql = "SELECT orchestration_name, orchestration_version, current_execution_id, created_at,
             updated_at, parent_instance_id, custom_status, custom_status_version
         FROM {schema}.instances WHERE instance_id = $1";
    let rows = store.query(sql, &[&to_stored(instance)]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let mut head = InstanceHead::default();
    head.orchestration_name = from_stored(row.get("orchestration_name"));
    head.orchestration_version = from_stored(row.get("orchestration_version"));
    head.current_execution_id = from_db(row.get("current_execution_id"));
    head.created_at_ms = from_db(row.get("created_at"));
    head.updated_at_ms = from_db(row.get("updated_at"));
    head.parent_instance_id = text(row, "parent_instance_id");
    head.custom_status = text(row, "custom_status");
    head.custom_status_version = from_db(row.get("custom_status_version"));
    head.suspension = suspension::read(store, instance).await?.map(Into::into);
    Ok(Some(head))
}

fn text(row: &Row, column: &str) -> Option<String> {
    row.get::<_, Option<String>>(column).map(from_stored)
}

fn time(row: &Row, column: &str) -> Option<u64> {
    row.get::<_, Option<i64>>(column).map(from_db)
}

const EXECUTIONS_SQL: &str = "SELECT p.*, (
         SELECT count(*) FROM {schema}.history h
         WHERE h.instance_id = $1 AND h.execution_id = p.execution_id) AS events
     FROM (
         SELECT f.*, sum(coalesce(octet_length(f.output), 0)) OVER (ORDER BY f.execution_id)
             - coalesce(octet_length(f.output), 0) AS before
         FROM (
             SELECT e.execution_id, e.status, e.output, e.started_at, e.completed_at,
                 e.duroxide_version
             FROM {schema}.executions e
             WHERE e.instance_id = $1 AND e.execution_id > $2 AND NOT EXISTS (
                 SELECT 1 FROM {schema}.deletions d
                 WHERE d.instance_id = $1 AND d.execution_id IN (0, e.execution_id))
             ORDER BY e.execution_id LIMIT $3) AS f
     ) AS p WHERE p.before < $4 ORDER BY p.execution_id";

fn execution(row: &Row) -> CopiedExecution {
    let mut found = CopiedExecution::default();
    found.execution_id = from_db(row.get("execution_id"));
    found.status = from_stored(row.get("status"));
    found.output = text(row, "output");
    found.started_at_ms = time(row, "started_at").filter(|at| *at > 0);
    found.completed_at_ms = time(row, "completed_at");
    found.pin = row.get("duroxide_version");
    found.events = from_db(row.get("events"));
    found
}

const KEYS_SQL: &str = "SELECT k.key, k.value, k.last_updated_at_ms, k.is_current FROM (
         SELECT key, value, last_updated_at_ms, FALSE AS is_current
         FROM {schema}.kv_store WHERE instance_id = $1
         UNION ALL SELECT key, value, last_updated_at_ms, TRUE
         FROM {schema}.kv_delta WHERE instance_id = $1) AS k
     WHERE NOT EXISTS (
         SELECT 1 FROM {schema}.deletions d WHERE d.instance_id = $1 AND d.execution_id = 0)
     ORDER BY k.is_current, k.key";

fn key(row: &Row) -> CopiedKey {
    let mut found = CopiedKey::default();
    found.key = from_stored(row.get("key"));
    found.value = text(row, "value");
    // When a key was removed does not matter.
    let updated_at = from_db(row.get("last_updated_at_ms"));
    found.updated_at_ms = found.value.as_ref().map_or(0, |_| updated_at);
    found.is_current = row.get("is_current");
    found
}

// Ids are short.
const IDS_SQL: &str = "SELECT message_id, expires_at FROM {schema}.message_ids
     WHERE instance_id = $1 AND message_id > $2 AND NOT EXISTS (
         SELECT 1 FROM {schema}.deletions d WHERE d.instance_id = $1 AND d.execution_id = 0)
     ORDER BY message_id LIMIT $3";

fn message_id(row: &Row) -> CopiedMessageId {
    let mut found = CopiedMessageId::default();
    found.id = from_stored(row.get("message_id"));
    found.expires_at_ms = from_db(row.get("expires_at"));
    found
}

// A lease that may be the start of an activity has met its limit.
const ACTIVITIES_SQL: &str = "SELECT p.* FROM (
         SELECT f.*, sum(f.size) OVER (ORDER BY f.id) - f.size AS before FROM (
             SELECT q.id, q.work_item, q.execution_id, q.activity_id, q.created_at, q.visible_at,
                 q.attempt_count, q.vouched, q.session_id, q.route,
                 CASE WHEN NOT q.starting THEN q.start_by END AS start_by, q.progress,
                 q.progress_at, q.progress_attempt,
                 octet_length(q.work_item) + coalesce(octet_length(q.progress), 0) AS size
             FROM {schema}.worker_queue q
             WHERE q.instance_id = $1 AND q.id > $2 AND NOT EXISTS (
                 SELECT 1 FROM {schema}.deletions d
                 WHERE d.instance_id = $1 AND d.execution_id = 0)
             ORDER BY q.id LIMIT $3) AS f
     ) AS p WHERE p.before < $4 ORDER BY p.id";

fn activity(row: &Row) -> CopiedActivity {
    let mut found = CopiedActivity::default();
    found.place = from_db(row.get("id"));
    found.item = row.get("work_item");
    found.execution_id = from_db(row.get("execution_id"));
    found.activity_id = from_db(row.get("activity_id"));
    found.queued_at_ms = from_db(row.get("created_at"));
    found.visible_at_ms = from_db(row.get("visible_at"));
    found.attempts = attempts(row.get("attempt_count"));
    found.vouched = attempts(row.get("vouched"));
    found.session_id = text(row, "session_id");
    let tag = row.get::<_, &str>("route").strip_prefix('=');
    found.tag = tag.map(|tag| from_stored(tag.to_owned()));
    found.start_by_ms = time(row, "start_by");
    found.progress = text(row, "progress").map(|text| {
        let mut progress = CopiedProgress::default();
        progress.text = text;
        progress.at_ms = time(row, "progress_at").unwrap_or(0);
        progress.attempt = row.get::<_, Option<i32>>("progress_attempt").map_or(0, attempts);
        progress
    });
    found
}

const MESSAGES_SQL: &str = "SELECT p.* FROM (
         SELECT f.*, sum(octet_length(f.work_item)) OVER (ORDER BY f.id)
             - octet_length(f.work_item) AS before
         FROM (
             SELECT q.id, q.work_item, q.visible_at, q.created_at, q.attempt_count, q.excused,
                 q.parked
             FROM {schema}.orchestrator_queue q
             WHERE q.instance_id = $1 AND q.id > $2 AND NOT EXISTS (
                 SELECT 1 FROM {schema}.deletions d
                 WHERE d.instance_id = $1 AND d.execution_id = 0)
             ORDER BY q.id LIMIT $3) AS f
     ) AS p WHERE p.before < $4 ORDER BY p.id";

fn message(row: &Row) -> CopiedMessage {
    let mut found = CopiedMessage::default();
    found.place = from_db(row.get("id"));
    found.item = row.get("work_item");
    found.visible_at_ms = from_db(row.get("visible_at"));
    found.queued_at_ms = from_db(row.get("created_at"));
    found.attempts = attempts(row.get("attempt_count"));
    found.excused = attempts(row.get("excused"));
    found.is_parked = row.get("parked");
    found
}
