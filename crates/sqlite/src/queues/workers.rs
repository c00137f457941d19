//! Nodes that run activities.

use duroxide_core::providers::kit::{EncodedWorker, decode_worker};
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
            expires_in: millis_to_db(announcement.expires_in),
        })
    }
}

/// Records that a node runs activities, and deletes the nodes that expired.
pub(crate) fn announce(tx: &mut Tx<'_>, worker: &NewWorker) -> Result<(), JobError> {
    tx.conn.prepare_cached("DELETE FROM workers WHERE expires_at <= ?1")?.execute([tx.now])?;
    tx.conn
        .prepare_cached(
            "INSERT INTO workers (node_id, tag_filter, activities, expires_at)
             VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (node_id) DO UPDATE
             SET tag_filter = ?2, activities = ?3, expires_at = ?4",
        )?
        .execute(params![
            worker.node_id,
            worker.tag_filter,
            worker.activities,
            tx.now.saturating_add(worker.expires_in)
        ])?;
    Ok(())
}

/// Deletes a node that runs no more activities.
pub(crate) fn withdraw(tx: &mut Tx<'_>, node_id: &str) -> Result<(), JobError> {
    tx.conn.prepare_cached("DELETE FROM workers WHERE node_id = ?1")?.execute([node_id])?;
    Ok(())
}

/// Nodes that have not expired, by their names.
pub(crate) fn live(conn: &Connection, now: u64) -> Result<Vec<LiveWorker>, JobError> {
    let rows: Vec<(String, String, String, i64)> = conn
        .prepare_cached(
            "SELECT node_id, tag_filter, activities, expires_at FROM workers
             WHERE expires_at > ?1 ORDER BY node_id",
        )?
        .query_map([to_db(now)], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?
        .collect::<Result<_, _>>()?;
    rows.into_iter()
        .map(|(node_id, tag_filter, activities, expires_at)| {
            Ok(decode_worker(node_id, &tag_filter, &activities, from_db(expires_at))?)
        })
        .collect()
}
