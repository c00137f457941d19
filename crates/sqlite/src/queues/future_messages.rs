//! Messages of a clock that was set back while no process had the file open.

use rusqlite::Connection;

/// Shows messages that are visible from a later time on although they were sent without a delay.
pub(crate) fn show(conn: &Connection, now: i64) -> rusqlite::Result<()> {
    for which in [
        "lock_token IS NULL AND parked = 0",
        "instance_id IN (SELECT instance_id FROM instance_locks)",
    ] {
        let found = format!("{which} AND visible_at > ?1 AND visible_at = created_at");
        let exist = format!("SELECT 1 FROM orchestrator_queue WHERE {found}");
        // A read does not wait for other processes, as an update would.
        if conn.prepare(&exist)?.exists([now])? {
            let show = format!("UPDATE orchestrator_queue SET visible_at = ?1 WHERE {found}");
            conn.execute(&show, [now])?;
        }
    }
    Ok(())
}
