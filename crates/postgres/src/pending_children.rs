//! Starts of children that wait in the queue while their parent is deleted.
//!
//! Without their parent they would run as orphans, and their results would reach an instance that
//! is started later under the parent's id.

use std::collections::HashSet;

use duroxide_core::EventKind;
use duroxide_core::model::build_child_instance_id;
use duroxide_core::providers::WorkItem;
use duroxide_core::providers::kit::{MessageKind, decode_event};

use crate::error::JobError;
use crate::schema::call::Argument;
use crate::schema::codes;
use crate::schema::number::from_db;
use crate::schema::stored_text::stored;
use crate::store::Store;

/// Starts in the queue, by instance and row.
#[derive(Debug, Default)]
pub(crate) struct PendingStarts {
    instances: Vec<String>,
    rows: Vec<i64>,
}

/// The starts that these parents have sent and that have not run yet. Read it before the parents
/// are deleted: their histories name the children.
pub(crate) async fn of(store: &Store, parents: &[String]) -> Result<PendingStarts, JobError> {
    let stored_parents: Vec<String> = parents.iter().map(|id| stored(id)).collect();
    let sql = "SELECT event_data FROM {schema}.history
         WHERE instance_id = ANY ($1) AND event_type = 'SubOrchestrationScheduled'";
    let schedules = store.query(sql, &[&stored_parents]).await?;
    // An event that cannot be read names no child.
    let events = schedules.iter().filter_map(|row| decode_event(row.get("event_data")).ok());
    let children: HashSet<String> = events
        .filter_map(|event| {
            let EventKind::SubOrchestrationScheduled { instance, .. } = &event.kind else {
                return None;
            };
            Some(stored(&build_child_instance_id(&event.instance_id, instance)))
        })
        .collect();
    let parents: HashSet<&str> = parents.iter().map(String::as_str).collect();
    let mut pending = PendingStarts::default();
    if children.is_empty() {
        return Ok(pending);
    }
    let children: Vec<String> = children.into_iter().collect();
    let sql = "SELECT q.instance_id, q.id, q.work_item FROM {schema}.orchestrator_queue q
         WHERE q.instance_id = ANY ($1) AND q.kind = $2 AND NOT EXISTS (
             SELECT 1 FROM {schema}.instances i WHERE i.instance_id = q.instance_id)";
    let kind = codes::message_kind(MessageKind::Start);
    for row in store.query(sql, &[&children, &kind]).await? {
        let message = serde_json::from_str(row.get("work_item"));
        if let Ok(WorkItem::StartOrchestration { parent_instance: Some(parent), .. }) = message
            && parents.contains(parent.as_str())
        {
            pending.instances.push(row.get("instance_id"));
            pending.rows.push(row.get("id"));
        }
    }
    Ok(pending)
}

/// Deletes the starts, once their parents are deleted. Returns how many.
pub(crate) async fn delete(store: &Store, pending: &PendingStarts) -> Result<u64, JobError> {
    if pending.rows.is_empty() {
        return Ok(0);
    }
    let arguments: [Argument<'_>; 2] =
        [("p_instances", &pending.instances), ("p_ids", &pending.rows)];
    let rows = store.call_repeatable("delete_pending_starts", &arguments).await?;
    let deleted = rows.first().and_then(|row| row.get::<_, Option<i64>>("o_messages"));
    Ok(deleted.map_or(0, from_db))
}
