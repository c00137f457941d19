//! Nodes that run turns or activities.

use duroxide_core::providers::kit::{EncodedWorker, decode_announced_turns, decode_worker};
use duroxide_core::providers::{LiveWorker, WorkerAnnouncement};
use rusqlite::{Connection, params};

use crate::error::JobError;
use crate::schema::number::{from_db, millis_to_db, to_db};
use crate::write::writer::Tx;

/// An announcement in its stored form.
#[derive(Debug)]
pub(crate) struct NewWorker {
    node_id: String,
    tag_filter: String,
    activities: String,
    turns: Option<String>,
    expires_in: i64,
}

impl NewWorker {
    /// Encodes an announcement.
    pub(crate) fn encode(announcement: &WorkerAnnouncement) -> Result<Self, JobError> {
        let worker = EncodedWorker::encode(announcement)?;
        Ok(Self {
            node_id: worker.node_id.to_owned(),
            tag_filter: worker.tag_filter,
            activities: worker.activities,
            turns: worker.turns,
            expires_in: millis_to_db(announcement.expires_in),
        })
    }
}

/// Records what a node runs, and deletes the nodes that expired.
pub(crate) fn announce(tx: &mut Tx<'_>, worker: &NewWorker) -> Result<(), JobError> {
    tx.conn.prepare_cached("DELETE FROM workers WHERE expires_at <= ?1")?.execute([tx.now])?;
    tx.conn
        .prepare_cached(
            "INSERT INTO workers (node_id, tag_filter, activities, expires_at, turns, timed_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (node_id) DO UPDATE
             SET tag_filter = ?2, activities = ?3, expires_at = ?4, turns = ?5, timed_at = ?6",
        )?
        .execute(params![
            worker.node_id,
            worker.tag_filter,
            worker.activities,
            tx.now.saturating_add(worker.expires_in),
            worker.turns,
            tx.now
        ])?;
    Ok(())
}

/// Deletes a node that has stopped.
pub(crate) fn withdraw(tx: &mut Tx<'_>, node_id: &str) -> Result<(), JobError> {
    tx.conn.prepare_cached("DELETE FROM workers WHERE node_id = ?1")?.execute([node_id])?;
    Ok(())
}

/// Nodes that have not expired, by their names.
pub(crate) fn live(conn: &Connection, now: u64) -> Result<Vec<LiveWorker>, JobError> {
    let mut statement = conn.prepare_cached(
        "SELECT node_id, tag_filter, activities, expires_at, turns FROM workers
         WHERE expires_at > ?1 ORDER BY node_id",
    )?;
    let mut rows = statement.query([to_db(now)])?;
    let mut live = Vec::new();
    while let Some(row) = rows.next()? {
        let (tag_filter, activities): (String, String) = (row.get(1)?, row.get(2)?);
        let (expires_at, turns): (i64, Option<String>) = (row.get(3)?, row.get(4)?);
        let worker = decode_worker(row.get(0)?, &tag_filter, &activities, from_db(expires_at))?;
        live.push(worker.with_turns(turns.as_deref().and_then(decode_announced_turns)));
    }
    Ok(live)
}
