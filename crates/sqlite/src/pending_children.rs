//! Starts of children that wait in the queue while their parent is deleted.

use duroxide_core::EventKind;
use duroxide_core::model::build_child_instance_id;
use duroxide_core::providers::WorkItem;
use duroxide_core::providers::kit::decode_event;
use rusqlite::params;

use crate::error::JobError;
use crate::queues::ready_messages;
use crate::schema::stored_text::stored_text;
use crate::write::writer::Tx;

/// Deletes the starts of children of `parent` that have not run yet, and returns how many.
///
/// Without their parent they would run as orphans, and their results would reach an instance that
/// is started later under the parent's id.
pub(crate) fn delete(tx: &mut Tx<'_>, parent: &str) -> Result<u64, JobError> {
    delete_first(tx, parent, i64::MAX)
}

/// Like [`delete`], of the children that the first events of the history name.
pub(crate) fn delete_first(tx: &mut Tx<'_>, parent: &str, events: i64) -> Result<u64, JobError> {
    let conn = tx.conn;
    let mut statement = conn.prepare_cached(
        "SELECT event_data FROM (
             SELECT event_data, event_type FROM history WHERE instance_id = ?1
             ORDER BY execution_id, event_id LIMIT ?2)
         WHERE event_type = 'SubOrchestrationScheduled'",
    )?;
    let mut rows = statement.query(params![parent, events])?;
    let mut deleted = 0;
    while let Some(row) = rows.next()? {
        // An event that cannot be read names no child.
        let event = row.get_ref(0)?.as_str().ok().and_then(|text| decode_event(text).ok());
        if let Some(EventKind::SubOrchestrationScheduled { instance, .. }) =
            event.map(|event| event.kind)
        {
            deleted += delete_start(tx, parent, &build_child_instance_id(parent, &instance))?;
        }
    }
    Ok(deleted)
}

fn delete_start(tx: &mut Tx<'_>, parent: &str, child: &str) -> Result<u64, JobError> {
    let conn = tx.conn;
    let mut exists = conn.prepare_cached("SELECT 1 FROM instances WHERE instance_id = ?1")?;
    if exists.exists([child])? {
        return Ok(0);
    }
    let messages: Vec<(i64, String)> = conn
        .prepare_cached("SELECT id, work_item FROM orchestrator_queue WHERE instance_id = ?1")?
        .query_map([child], |row| Ok((row.get(0)?, stored_text(row, 1)?)))?
        .collect::<Result<_, _>>()?;
    let is_start = |text: &str| {
        let message = serde_json::from_str(text);
        matches!(
            message,
            Ok(WorkItem::StartOrchestration { parent_instance: Some(by), .. }) if by == parent
        )
    };
    let mut deleted = 0;
    for (id, _) in messages.iter().filter(|(_, text)| is_start(text)) {
        conn.prepare_cached("DELETE FROM orchestrator_queue WHERE id = ?1")?.execute([id])?;
        deleted += 1;
    }
    if deleted > 0 {
        // Without its lease a first turn in progress cannot create the child.
        for sql in [
            "DELETE FROM instance_locks WHERE instance_id = ?1",
            "UPDATE orchestrator_queue SET lock_token = NULL WHERE instance_id = ?1",
        ] {
            conn.prepare_cached(sql)?.execute([child])?;
        }
        // Others stood behind the start, or had its route: a fetch sets them aside.
        ready_messages::list_rerouted(tx, child)?;
    }
    Ok(deleted)
}
