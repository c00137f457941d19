//! The row changes of one workflow, as the provider makes them.

use rusqlite::{Connection, params};

use super::batches::{MESSAGE, NOW_MS, WORK};
use crate::template;

const LEASE_MS: i64 = 30_000;

/// Texts of the rows, read from a real instance.
#[derive(Debug)]
pub(super) struct Rows {
    started: String,
    scheduled: String,
    completed: String,
    ended: String,
}

/// A completed activity and its completion event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ended {
    /// The event that scheduled it.
    pub(super) call: u64,
    /// Its completion event.
    pub(super) event: u64,
}

impl Rows {
    /// Reads the texts.
    pub(super) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let text = |event_type: &str| {
            conn.query_row(
                "SELECT event_data FROM history WHERE instance_id = ?1 AND event_type = ?2",
                [template::ID, event_type],
                |row| row.get::<_, String>(0),
            )
        };
        Ok(Self {
            started: text("OrchestrationStarted")?,
            scheduled: text("ActivityScheduled")?,
            completed: text("ActivityCompleted")?,
            ended: text("OrchestrationCompleted")?,
        })
    }

    /// Enqueues the start.
    pub(super) fn start(&self, conn: &Connection, id: &str) -> rusqlite::Result<()> {
        conn.prepare_cached(
            "INSERT INTO orchestrator_queue (instance_id, work_item, visible_at, created_at, route)
             VALUES (?1, ?2, ?3, ?3, '')",
        )?
        .execute(params![id, MESSAGE, NOW_MS])?;
        Ok(())
    }

    /// The first turn schedules `calls` activities; its commit also leases them.
    pub(super) fn first_turn(
        &self,
        conn: &Connection,
        id: &str,
        calls: u64,
    ) -> rusqlite::Result<()> {
        conn.prepare_cached(
            "DELETE FROM orchestrator_queue WHERE instance_id = ?1 AND visible_at <= ?2",
        )?
        .execute(params![id, NOW_MS])?;
        conn.prepare_cached(
            "INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
                 current_execution_id, created_at, updated_at, incarnation)
             VALUES (?1, 'chain', '1.0.0', 1, ?2, ?2, 7)",
        )?
        .execute(params![id, NOW_MS])?;
        conn.prepare_cached(
            "INSERT INTO executions (instance_id, execution_id, status, started_at,
                 duroxide_version, duroxide_version_major, duroxide_version_minor,
                 duroxide_version_patch)
             VALUES (?1, 1, 'Running', ?2, '0.2.0', 0, 2, 0)",
        )?
        .execute(params![id, NOW_MS])?;
        self.event(conn, id, 1, "OrchestrationStarted", &self.started)?;
        for call in 0..calls {
            self.scheduled(conn, id, call + 2)?;
        }
        Ok(())
    }

    /// A turn in the middle of a chain: one activity has completed, the next starts.
    pub(super) fn step(&self, conn: &Connection, id: &str, step: u64) -> rusqlite::Result<()> {
        self.completed(conn, id, Ended { call: step * 2, event: step * 2 + 1 })?;
        self.scheduled(conn, id, step * 2 + 2)?;
        self.touch(conn, id)
    }

    /// The last turn: this activity has completed with this event, and so has the workflow.
    pub(super) fn last_turn(
        &self,
        conn: &Connection,
        id: &str,
        ended: Ended,
    ) -> rusqlite::Result<()> {
        self.completed(conn, id, ended)?;
        self.event(conn, id, ended.event + 1, "OrchestrationCompleted", &self.ended)?;
        conn.prepare_cached(
            "UPDATE executions SET status = 'Completed', output = '5', completed_at = ?2
             WHERE instance_id = ?1 AND execution_id = 1",
        )?
        .execute(params![id, NOW_MS])?;
        self.touch(conn, id)
    }

    /// Every turn updates the time of the instance.
    pub(super) fn touch(&self, conn: &Connection, id: &str) -> rusqlite::Result<()> {
        conn.prepare_cached("UPDATE instances SET updated_at = ?2 WHERE instance_id = ?1")?
            .execute(params![id, NOW_MS])?;
        Ok(())
    }

    /// Completes an activity: deletes it from the queue and appends the event.
    pub(super) fn completed(
        &self,
        conn: &Connection,
        id: &str,
        ended: Ended,
    ) -> rusqlite::Result<()> {
        conn.prepare_cached(
            "DELETE FROM worker_queue
             WHERE instance_id = ?1 AND execution_id = 1 AND activity_id = ?2",
        )?
        .execute(params![id, to_db(ended.call)])?;
        self.event(conn, id, ended.event, "ActivityCompleted", &self.completed)
    }

    fn scheduled(&self, conn: &Connection, id: &str, event: u64) -> rusqlite::Result<()> {
        self.event(conn, id, event, "ActivityScheduled", &self.scheduled)?;
        conn.prepare_cached(
            "INSERT INTO worker_queue (work_item, created_at, instance_id, execution_id,
                 activity_id, lock_token, locked_until, attempt_count)
             VALUES (?1, ?2, ?3, 1, ?4, ?5, ?6, 1)",
        )?
        .execute(params![
            WORK,
            NOW_MS,
            id,
            to_db(event),
            token(id, event),
            NOW_MS + LEASE_MS
        ])?;
        Ok(())
    }

    fn event(
        &self,
        conn: &Connection,
        id: &str,
        event: u64,
        event_type: &str,
        text: &str,
    ) -> rusqlite::Result<()> {
        conn.prepare_cached(
            "INSERT INTO history
                 (instance_id, execution_id, event_id, event_type, event_data, created_at)
             VALUES (?1, 1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![id, to_db(event), event_type, text, NOW_MS])?;
        Ok(())
    }

    /// Checks that the queues are empty and every instance has completed.
    pub(super) fn check(&self, conn: &Connection) -> rusqlite::Result<()> {
        let left: i64 = conn.query_row(
            "SELECT (SELECT count(*) FROM worker_queue) + (SELECT count(*) FROM orchestrator_queue)
                 + (SELECT count(*) FROM executions WHERE status <> 'Completed')",
            [],
            |row| row.get(0),
        )?;
        if left == 0 { Ok(()) } else { Err(rusqlite::Error::IntegralValueOutOfRange(0, left)) }
    }
}

fn to_db(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

// Of the same length as the tokens of the provider.
fn token(id: &str, call: u64) -> String {
    format!("lock_{id:-<20}{call:016}")
}
