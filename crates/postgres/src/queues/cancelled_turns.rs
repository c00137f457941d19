//! Turns of cancelled instances that no node may fetch.
//!
//! The cost depends on how many cancellations wait: they have an index of their own.

use duroxide_core::providers::{
    HELD_CANCELLATIONS_MAX, ListCursor, StrandedTurnQuery, StrandedTurns, WaitingTurn, WorkItem,
};
use tokio_postgres::Row;

use super::stranded_turns::{needs, with_needs};
use crate::error::JobError;
use crate::limits;
use crate::schema::number::from_db;
use crate::schema::stored_text::{from_stored, stored};
use crate::store::Store;

/// Turns with a waiting cancellation that no node of the query may fetch, by instance.
pub(crate) async fn turns(
    store: &Store,
    query: &StrandedTurnQuery,
) -> Result<StrandedTurns, JobError> {
    let mut found = StrandedTurns::default();
    if query.limit == 0 {
        return Ok(found);
    }
    let after = stored(query.after.as_ref().map_or("", ListCursor::as_str));
    let limit = i64::from(limits::CANCELLED_TURNS_PER_READ.min(query.limit));
    let rows = store.query(CANCELLED_SQL, &[&store.now(), &after, &limit]).await?;
    found.turns.extend(rows.iter().filter_map(|row| waiting(row, query)));
    let is_cut = i64::try_from(rows.len()).is_ok_and(|read| read >= limit);
    let last = rows.last().filter(|_| is_cut);
    found.next = last.map(|row| ListCursor::new(from_stored(row.get("instance_id"))));
    Ok(found)
}

fn waiting(row: &Row, query: &StrandedTurnQuery) -> Option<WaitingTurn> {
    let since = row.get::<_, Option<i64>>("since")?;
    let (code, pin) = needs(row);
    if row.get("is_leased") || !query.strands(code.as_ref(), pin.as_ref()) {
        return None;
    }
    let execution_id: Option<i64> = row.get("current_execution_id");
    let turn = WaitingTurn::new(from_stored(row.get("instance_id")), from_db(since))
        .with_execution_id(execution_id.map(from_db))
        .with_needs(code, pin);
    Some(turn)
}

/// The reasons of the cancellations that `hold_instance` returned.
pub(crate) fn reasons(row: &Row) -> Vec<String> {
    let texts = row.get::<_, Option<Vec<&str>>>("o_cancellations").unwrap_or_default();
    let decoded = texts.into_iter().filter_map(|text| {
        let item: WorkItem = serde_json::from_str(text).ok()?;
        let WorkItem::CancelInstance { reason, .. } = item else { return None };
        Some(reason)
    });
    decoded.collect()
}

/// How many cancellations `hold_instance` returns.
pub(crate) fn reasons_max() -> i64 {
    i64::from(HELD_CANCELLATIONS_MAX)
}

/// A cancellation that came before the start of an instance that is not stored was meant for
/// another.
const CANCELLED_SQL: &str = with_needs!(
    "w.instance_id, w.since, w.is_leased",
    "(SELECT c.instance_id,
          EXISTS (
              SELECT 1 FROM {schema}.instance_locks l WHERE l.instance_id = c.instance_id
                  AND l.locked_until > coalesce($1, {schema}.now_ms())) AS is_leased, (
          SELECT min(q.visible_at) FROM {schema}.orchestrator_queue q
          WHERE q.instance_id = c.instance_id AND left(q.work_item, 17) LIKE '_\"CancelInstance\"'
              AND NOT q.parked AND q.visible_at <= coalesce($1, {schema}.now_ms())
              AND (EXISTS (
                  SELECT 1 FROM {schema}.instances i WHERE i.instance_id = q.instance_id)
              OR q.id > (
                  SELECT s.id FROM {schema}.orchestrator_queue s
                  WHERE s.instance_id = q.instance_id AND s.kind = 1 AND NOT s.parked
                  ORDER BY s.work_item NOT LIKE '__ContinueAsNew_%', s.id LIMIT 1))) AS since
      FROM (
          SELECT DISTINCT q.instance_id FROM {schema}.orchestrator_queue q
          WHERE left(q.work_item, 17) LIKE '_\"CancelInstance\"' AND q.instance_id > $2
          ORDER BY q.instance_id LIMIT $3) AS c) AS w",
    "ORDER BY w.instance_id"
);
