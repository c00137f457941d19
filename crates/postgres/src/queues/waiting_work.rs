//! Activities without a lease, for operators.

use duroxide_core::providers::kit::{activity_name, cursor_at, number_behind};
use duroxide_core::providers::{ScheduledActivityIdentifier, WaitingWork, WaitingWorkQuery};

use crate::error::JobError;
use crate::queues::work_route::route;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::from_stored;
use crate::store::Store;

/// Tags of activities without a lease, ascending.
pub(crate) async fn tags(
    store: &Store,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Option<String>>, JobError> {
    // One index probe per route; expired leases are few.
    let sql = "SELECT w.route FROM (
             SELECT unnest({schema}.ready_routes{v}()) AS route
             UNION
             SELECT q.route FROM {schema}.worker_queue q
             WHERE q.locked_until <= coalesce($1, {schema}.now_ms())
         ) AS w
         WHERE $2::TEXT IS NULL OR w.route COLLATE \"C\" > $2
         ORDER BY w.route COLLATE \"C\" LIMIT $3";
    let after = after.map(|after| route(Some(after)));
    let rows = store.query(sql, &[&store.now(), &after, &i64::from(limit)]).await?;
    let tag = |row: &tokio_postgres::Row| {
        row.get::<_, &str>("route").strip_prefix('=').map(|tag| from_stored(tag.to_owned()))
    };
    Ok(rows.iter().map(tag).collect())
}

/// Activities of one tag without a lease, oldest first.
pub(crate) async fn work(
    store: &Store,
    query: &WaitingWorkQuery,
) -> Result<Vec<WaitingWork>, JobError> {
    // A payload may be large, and is read only if its name is not known otherwise.
    let sql = "SELECT w.id, w.instance_id, w.execution_id, w.activity_id, w.session_id,
             w.created_at, w.code, CASE WHEN w.code = '' THEN w.work_item END AS work_item
         FROM (
             (SELECT id, instance_id, execution_id, activity_id, session_id, created_at, work_item,
                  coalesce(code, {schema}.activity_code{v}(work_item)) AS code
              FROM {schema}.worker_queue
              WHERE locked_until IS NULL AND route = $1 AND id > $2 ORDER BY id LIMIT $3)
             UNION ALL
             SELECT id, instance_id, execution_id, activity_id, session_id, created_at, work_item,
                 coalesce(code, {schema}.activity_code{v}(work_item)) AS code
             FROM {schema}.worker_queue
             WHERE locked_until <= coalesce($4, {schema}.now_ms()) AND route = $1 AND id > $2
         ) AS w ORDER BY w.id LIMIT $3";
    let tag = query.tag.as_deref();
    let after = to_db(number_behind(query.after.as_ref())?);
    let limit = i64::from(query.limit);
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
        [&route(tag), &after, &limit, &store.now()];
    let rows = store.query(sql, &params).await?;
    let waiting = |row: &tokio_postgres::Row| {
        let activity = ScheduledActivityIdentifier {
            instance: from_stored(row.get("instance_id")),
            execution_id: from_db(row.get("execution_id")),
            activity_id: from_db(row.get("activity_id")),
        };
        let cursor = cursor_at(from_db(row.get("id")));
        let name = match row.get::<_, Option<&str>>("work_item") {
            Some(item) => activity_name(item),
            None => {
                let code: &str = row.get("code");
                from_stored(code.strip_prefix('=').unwrap_or_default().to_owned())
            }
        };
        WaitingWork::new(cursor, activity, name)
            .with_session_id(row.get::<_, Option<String>>("session_id").map(from_stored))
            .with_waiting_since_ms(from_db(row.get("created_at")))
            .with_tag(tag.map(str::to_owned))
    };
    Ok(rows.iter().map(waiting).collect())
}
