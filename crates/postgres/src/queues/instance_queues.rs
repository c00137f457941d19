//! What the queues hold of one instance, for operators.

use duroxide_core::providers::kit::{activity_name, message_variant};
use duroxide_core::providers::{
    InstanceQueues, InstanceQueuesQuery, QueuedActivity, QueuedMessage, SessionOwner, TurnLease,
};
use tokio_postgres::Row;

use crate::error::JobError;
use crate::queues::stranded_turns;
use crate::schema::number::{attempts, from_db};
use crate::schema::stored_text::{from_stored, to_stored};
use crate::store::Store;

/// What the queues hold of one instance. Activities are read before messages: one that completes in
/// between is in both.
pub(crate) async fn read(
    store: &Store,
    query: &InstanceQueuesQuery,
) -> Result<InstanceQueues, JobError> {
    let instance = to_stored(&query.instance);
    let rows = store.query(TURN_SQL, &[&store.now(), &instance]).await?;
    let Some(row) = rows.first() else { return Ok(InstanceQueues::new(0)) };
    let now: i64 = row.get("now");
    let queues = InstanceQueues::new(from_db(now));
    if row.get("is_deleted") {
        return Ok(queues);
    }
    let (code, pin) = stranded_turns::needs(row);
    let more = i64::from(query.limit) + 1;
    let rows = store.query(ACTIVITIES_SQL, &[&now, &instance, &more]).await?;
    let limit = query.limit as usize;
    let mut queues = queues
        .with_needs(code, pin)
        .with_lease(lease(row))
        .with_activities(rows.iter().take(limit).map(activity).collect(), rows.len() > limit);
    let rows = store.query(MESSAGES_SQL, &[&now, &instance, &more]).await?;
    count(&rows, limit, &mut queues);
    Ok(queues)
}

const TURN_SQL: &str = "SELECT w.now, i.orchestration_name, i.orchestration_version, e.status,
         e.duroxide_version, l.locked_until, cardinality(l.message_ids) AS leased,
         EXISTS (
             SELECT 1 FROM {schema}.deletions d
             WHERE d.instance_id = w.instance_id AND d.execution_id = 0) AS is_deleted,
         CASE WHEN e.status IS NULL OR e.status = 'ContinuedAsNew' THEN (
             SELECT s.code FROM {schema}.orchestrator_queue s
             WHERE s.instance_id = w.instance_id AND s.kind = 1 AND NOT s.parked
                 AND (e.status IS NULL OR s.work_item LIKE '__ContinueAsNew_%')
             ORDER BY s.id LIMIT 1) END AS code
     FROM (
         SELECT coalesce($1, {schema}.now_ms()) AS now, $2::TEXT COLLATE \"C\" AS instance_id) AS w
     LEFT JOIN {schema}.instances i ON i.instance_id = w.instance_id
     LEFT JOIN {schema}.executions e
         ON e.instance_id = i.instance_id AND e.execution_id = i.current_execution_id
     LEFT JOIN {schema}.instance_locks l
         ON l.instance_id = w.instance_id AND l.locked_until > w.now";

fn lease(row: &Row) -> Option<TurnLease> {
    let until = row.get::<_, Option<i64>>("locked_until")?;
    let holds_messages = row.get::<_, Option<i32>>("leased").is_some_and(|count| count > 0);
    Some(match holds_messages {
        true => TurnLease::of_node(from_db(until)),
        false => TurnLease::of_suspension((until < i64::MAX).then(|| from_db(until))),
    })
}

// A payload may be large, and is read only if its name is not known otherwise.
const ACTIVITIES_SQL: &str = "SELECT w.execution_id, w.activity_id, w.code,
         CASE WHEN w.code = '' THEN w.work_item END AS work_item, w.route, w.session_id,
         w.created_at, w.delayed_until, w.leased_until, w.attempt_count, w.start_by, w.progress,
         w.progress_at, w.worker_id, w.owned_until
     FROM (
         SELECT q.id, q.execution_id, q.activity_id, q.work_item, q.route, q.session_id,
             q.created_at, coalesce(q.code, {schema}.activity_code{v}(q.work_item)) AS code,
             CASE WHEN q.visible_at > $1 THEN q.visible_at END AS delayed_until,
             CASE WHEN q.locked_until > $1 THEN q.locked_until END AS leased_until,
             q.attempt_count, CASE WHEN NOT q.starting THEN q.start_by END AS start_by,
             q.progress, q.progress_at, s.worker_id, s.locked_until AS owned_until
         FROM {schema}.worker_queue q
         LEFT JOIN {schema}.sessions s
             ON s.session_id = q.session_id AND s.locked_until > $1 AND NOT s.expired
         WHERE q.instance_id = $2 ORDER BY q.execution_id, q.activity_id, q.id LIMIT $3) AS w
     ORDER BY w.execution_id, w.activity_id, w.id";

fn activity(row: &Row) -> QueuedActivity {
    let name = match row.get::<_, Option<&str>>("work_item") {
        Some(item) => activity_name(item),
        None => {
            let code: &str = row.get("code");
            from_stored(code.strip_prefix('=').unwrap_or_default().to_owned())
        }
    };
    let time = |column: &str| row.get::<_, Option<i64>>(column).map(from_db);
    let text = |column: &str| row.get::<_, Option<String>>(column).map(from_stored);
    let (execution_id, activity_id) = (row.get("execution_id"), row.get("activity_id"));
    let mut found = QueuedActivity::new(from_db(execution_id), from_db(activity_id), name);
    let tag = row.get::<_, &str>("route").strip_prefix('=');
    found.tag = tag.map(|tag| from_stored(tag.to_owned()));
    found.session_id = text("session_id");
    found.queued_at_ms = from_db(row.get("created_at"));
    found.delayed_until_ms = time("delayed_until");
    found.leased_until_ms = time("leased_until");
    found.attempts = attempts(row.get("attempt_count"));
    found.start_by_ms = time("start_by");
    found.progress = text("progress");
    found.progress_at_ms = time("progress_at");
    if let (Some(owner_id), Some(until_ms)) = (text("worker_id"), time("owned_until")) {
        found.session_owner = Some(SessionOwner::new(owner_id, until_ms));
    }
    found
}

// The beginning of a message has its kind. A lease counts as an attempt when it ends.
const MESSAGES_SQL: &str = "SELECT left(w.work_item, 64) AS item, w.part, w.visible_at, w.parked,
         w.attempt_count + CASE WHEN w.id = ANY (l.message_ids) THEN 1 ELSE 0 END AS attempts
     FROM (
         (SELECT q.*, 0 AS part FROM {schema}.orchestrator_queue q
          WHERE q.instance_id = $2 AND NOT q.parked AND q.visible_at <= $1
          ORDER BY q.id LIMIT $3)
         UNION ALL
         (SELECT q.*, 1 AS part FROM {schema}.orchestrator_queue q
          WHERE q.instance_id = $2 AND NOT q.parked AND q.visible_at > $1
          ORDER BY q.id LIMIT $3)
         UNION ALL
         (SELECT q.*, 2 AS part FROM {schema}.orchestrator_queue q
          WHERE q.instance_id = $2 AND q.parked ORDER BY q.id LIMIT $3)
     ) AS w LEFT JOIN {schema}.instance_locks l ON l.instance_id = $2";

fn count(rows: &[Row], limit: usize, queues: &mut InstanceQueues) {
    let mut counted = [0; 3];
    for row in rows {
        let part = usize::try_from(row.get::<_, i32>("part")).unwrap_or_default();
        if let Some(counted) = counted.get_mut(part) {
            *counted += 1;
            if *counted > limit {
                queues.has_more_messages = true;
                continue;
            }
        }
        queues.count(&QueuedMessage {
            kind: message_variant(row.get("item")),
            visible_at_ms: from_db(row.get("visible_at")),
            is_parked: row.get("parked"),
            attempts: attempts(row.get("attempts")),
        });
    }
}
