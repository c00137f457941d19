//! Turns of cancelled instances that no node may fetch.
//!
//! The cost depends on how many cancellations wait: they have an index of their own.

use duroxide_core::providers::{
    ListCursor, StrandedTurnQuery, StrandedTurns, WaitingTurn, WorkItem,
};
use rusqlite::{Connection, params};

use crate::error::JobError;
use crate::limits;
use crate::queues::ready_messages;
use crate::queues::stranded_turns::Needs;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::{stored_id, stored_integer, stored_text};

/// Turns with a waiting cancellation that no node of the query may fetch, by instance.
pub(crate) fn turns(
    conn: &Connection,
    now: u64,
    query: &StrandedTurnQuery,
) -> Result<StrandedTurns, JobError> {
    let mut found = StrandedTurns::default();
    if query.limit == 0 {
        return Ok(found);
    }
    let after = query.after.as_ref().map_or("", ListCursor::as_str);
    let limit = limits::CANCELLED_TURNS_PER_READ.min(query.limit);
    let mut statement = conn.prepare_cached(CANCELLED_SQL)?;
    let mut rows = statement.query(params![to_db(now), after, limit])?;
    let (mut read, mut last) = (0, None);
    while let Some(row) = rows.next()? {
        read += 1;
        let Some(instance) = stored_id(row, 0)? else { continue };
        let (since, is_leased) = (stored_integer(row, 1)?, row.get::<_, bool>(2)?);
        if let (Some(since), false) = (since, is_leased) {
            let Needs { code, pin } = Needs::of(&ready_messages::route_of(conn, &instance)?);
            let turn = WaitingTurn::new(instance.as_str(), from_db(since))
                .with_execution_id(stored_integer(row, 3)?.map(from_db))
                .with_needs(code, pin);
            if query.strands(turn.code.as_ref(), turn.pin.as_ref()) {
                found.turns.push(turn);
            }
        }
        last = Some(instance);
    }
    found.next = last.filter(|_| read == limit).map(ListCursor::new);
    Ok(found)
}

/// The reasons of the cancellations that wait for an instance, oldest first.
pub(crate) fn reasons(
    conn: &Connection,
    now: i64,
    instance: &str,
) -> Result<Vec<String>, JobError> {
    let mut statement = conn.prepare_cached(REASONS_SQL)?;
    let limit = duroxide_core::providers::HELD_CANCELLATIONS_MAX;
    let texts = statement.query_map(params![now, instance, limit], |row| stored_text(row, 0))?;
    let mut found = Vec::new();
    for text in texts {
        if let Ok(WorkItem::CancelInstance { reason, .. }) = serde_json::from_str(&text?) {
            found.push(reason);
        }
    }
    Ok(found)
}

/// Whether cancellation `q` counts at ?1. One that came before the start of an instance that is not
/// stored was meant for another.
macro_rules! counts {
    () => {
        "q.start_rank < 0 AND q.parked = 0 AND q.visible_at <= ?1 AND (
             EXISTS (SELECT 1 FROM instances i WHERE i.instance_id = q.instance_id)
             OR q.id > (
                 SELECT s.id FROM orchestrator_queue s INDEXED BY idx_orch_start
                 WHERE s.instance_id = q.instance_id AND s.start_rank > 0
                 ORDER BY s.start_rank, s.id LIMIT 1))"
    };
}

const CANCELLED_SQL: &str = concat!(
    "SELECT c.instance_id, (
             SELECT min(q.visible_at) FROM orchestrator_queue q INDEXED BY idx_orch_cancel
             WHERE q.instance_id = c.instance_id AND ",
    counts!(),
    "),
         EXISTS (
             SELECT 1 FROM instance_locks l
             WHERE l.instance_id = c.instance_id AND l.locked_until > ?1), (
         SELECT i.current_execution_id FROM instances i WHERE i.instance_id = c.instance_id)
     FROM (
         SELECT DISTINCT q.instance_id FROM orchestrator_queue q INDEXED BY idx_orch_cancel
         WHERE q.start_rank < 0 AND q.instance_id > ?2
         ORDER BY q.instance_id LIMIT ?3) AS c
     ORDER BY c.instance_id"
);

const REASONS_SQL: &str = concat!(
    "SELECT q.work_item FROM orchestrator_queue q INDEXED BY idx_orch_cancel
     WHERE q.instance_id = ?2 AND ",
    counts!(),
    " ORDER BY q.id LIMIT ?3"
);
