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
use crate::limits;
use crate::schema::call::Argument;
use crate::schema::codes;
use crate::schema::number::from_db;
use crate::schema::stored_text::{from_stored, stored};
use crate::store::Store;

/// Deletes the starts that a hidden parent has sent and that have not run yet; returns how many.
/// The parent commits nothing any more, so that its history names all its children.
pub(crate) async fn delete(store: &Store, stored_parent: &str) -> Result<u64, JobError> {
    let parent = from_stored(stored_parent.to_owned());
    let sql = "SELECT execution_id, event_id,
             CASE WHEN event_type = 'SubOrchestrationScheduled' THEN event_data END AS child
         FROM {schema}.history
         WHERE instance_id = $1 AND (execution_id, event_id) > ($2, $3)
         ORDER BY execution_id, event_id LIMIT $4";
    let (mut execution_id, mut event_id) = (0_i64, 0_i64);
    let mut deleted = 0;
    loop {
        let page = limits::SEARCHED_EVENTS_PER_READ;
        let rows = store.query(sql, &[&stored_parent, &execution_id, &event_id, &page]).await?;
        let Some(last) = rows.last() else { return Ok(deleted) };
        (execution_id, event_id) = (last.get("execution_id"), last.get("event_id"));
        // An event that cannot be read names no child.
        let named = rows.iter().filter_map(|row| row.get::<_, Option<&str>>("child"));
        let events = named.filter_map(|text| decode_event(text).ok());
        let children: HashSet<String> = events
            .filter_map(|event| {
                let EventKind::SubOrchestrationScheduled { instance, .. } = event.kind else {
                    return None;
                };
                Some(stored(&build_child_instance_id(&parent, &instance)))
            })
            .collect();
        if !children.is_empty() {
            deleted += delete_starts(store, &parent, children.into_iter().collect()).await?;
        }
    }
}

/// Deletes the starts of these children by this parent.
async fn delete_starts(
    store: &Store,
    parent: &str,
    children: Vec<String>,
) -> Result<u64, JobError> {
    let sql = "SELECT q.instance_id, q.id, q.work_item FROM {schema}.orchestrator_queue q
         WHERE q.instance_id = ANY ($1) AND q.kind = $2 AND NOT EXISTS (
             SELECT 1 FROM {schema}.instances i WHERE i.instance_id = q.instance_id)";
    let kind = codes::message_kind(MessageKind::Start);
    let (mut instances, mut ids) = (Vec::<String>::new(), Vec::<i64>::new());
    for row in store.query(sql, &[&children, &kind]).await? {
        let message = serde_json::from_str(row.get("work_item"));
        if let Ok(WorkItem::StartOrchestration { parent_instance: Some(by), .. }) = message
            && by == parent
        {
            instances.push(row.get("instance_id"));
            ids.push(row.get("id"));
        }
    }
    if ids.is_empty() {
        return Ok(0);
    }
    let arguments: [Argument<'_>; 2] = [("p_instances", &instances), ("p_ids", &ids)];
    let rows = store.call_repeatable("delete_pending_starts", &arguments).await?;
    let deleted = rows.first().and_then(|row| row.get::<_, Option<i64>>("o_messages"));
    Ok(deleted.map_or(0, from_db))
}
