//! Events as they are stored, whether this build can decode them or not.

use duroxide_core::providers::kit::decode_stored_event;
use duroxide_core::providers::{StoredEvent, StoredEventsQuery};
use rusqlite::{Connection, params};

use crate::error::JobError;
use crate::read::history::PartSize;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::stored_text;
use crate::{deletion_slices, limits};

/// The next events of an execution, as many as one read returns.
pub(crate) fn part(
    conn: &Connection,
    query: &StoredEventsQuery,
) -> Result<Vec<StoredEvent>, JobError> {
    let StoredEventsQuery { instance, execution_id, after, .. } = query;
    let (execution_id, after) = (to_db(*execution_id), to_db(*after));
    if deletion_slices::hides(conn, instance, Some(execution_id))? {
        return Ok(Vec::new());
    }
    let mut statement = conn.prepare_cached(
        "SELECT event_id, event_data FROM history
         WHERE instance_id = ?1 AND execution_id = ?2 AND event_id > ?3
         ORDER BY event_id LIMIT ?4",
    )?;
    let events_max = to_db(limits::EVENTS_PER_READ_MAX as u64);
    let mut rows = statement.query(params![instance, execution_id, after, events_max])?;
    let (mut events, mut bytes) = (Vec::new(), 0);
    while bytes < PartSize::OF_A_READ.bytes
        && let Some(row) = rows.next()?
    {
        let text = stored_text(row, 1)?;
        bytes += text.len();
        events.push(decode_stored_event(from_db(row.get(0)?), text));
    }
    Ok(events)
}
