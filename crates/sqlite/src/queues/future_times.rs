//! Times of a clock that was set back while no process had the file open.
//!
//! A message that is visible at once carries the time of its arrival, and a lease or a delay the
//! time at which it ends. After the clock was set back, these are too far in the future. Each was
//! set at a time that is in the future, too: it lasts for its own length from now on. A timer has a
//! time of its own, which stays.

use rusqlite::Connection;

use crate::error::JobError;
use crate::queues::ready_messages;
use crate::write::job::{Job, TypedJob};
use crate::write::writer::Tx;

/// One kind of time.
struct Kind {
    table: &'static str,
    /// The time, and when it was set.
    until: &'static str,
    set_at: &'static str,
    which: &'static str,
    /// How the row says that it was set now.
    changes: &'static str,
    /// A live process may have set it, by a clock that it has not set back.
    is_held: bool,
}

const MESSAGES: Kind = Kind {
    table: "orchestrator_queue",
    until: "visible_at",
    set_at: "coalesce(timed_at, created_at)",
    which: "parked = 0 AND (timed_at IS NOT NULL OR work_item NOT LIKE '{\"TimerFired\"%')",
    changes: "created_at = min(created_at, ?1), timed_at = iif(timed_at IS NULL, NULL, ?1)",
    is_held: false,
};

const OTHERS: [Kind; 7] = [
    // Suspensions of replay. That of an operator lasts for ever.
    Kind {
        table: "instance_locks",
        until: "locked_until",
        set_at: "locked_at",
        which: "locked_until < 9223372036854775807 AND lock_token GLOB 'suspended-*'",
        changes: "locked_at = ?1",
        is_held: false,
    },
    Kind {
        table: "instance_locks",
        until: "locked_until",
        set_at: "locked_at",
        which: "lock_token NOT GLOB 'suspended-*'",
        changes: "locked_at = ?1",
        is_held: true,
    },
    Kind {
        table: "worker_queue",
        until: "locked_until",
        set_at: "timed_at",
        which: "locked_until IS NOT NULL",
        changes: "timed_at = ?1",
        is_held: true,
    },
    Kind {
        table: "worker_queue",
        until: "visible_at",
        set_at: "timed_at",
        which: "visible_at > 0 AND locked_until IS NULL",
        changes: "timed_at = ?1",
        is_held: false,
    },
    // The time by which an activity must start.
    Kind {
        table: "worker_queue",
        until: "start_by",
        set_at: "created_at",
        which: "start_by IS NOT NULL AND starting = 0",
        changes: "created_at = ?1",
        is_held: false,
    },
    Kind {
        table: "sessions",
        until: "locked_until",
        set_at: "timed_at",
        which: "expired = 0",
        changes: "timed_at = ?1, last_activity_at = min(last_activity_at, ?1)",
        is_held: true,
    },
    Kind {
        table: "workers",
        until: "expires_at",
        set_at: "timed_at",
        which: "1",
        changes: "timed_at = ?1",
        is_held: true,
    },
];

impl Kind {
    /// Which rows are wrong at `?1`.
    fn found(&self) -> String {
        let Self { until, set_at, which, .. } = self;
        format!("{which} AND {until} > ?1 AND {set_at} > ?1 AND typeof({set_at}) = 'integer'")
    }

    fn exists(&self, conn: &Connection, now: i64) -> rusqlite::Result<bool> {
        conn.prepare(&format!("SELECT 1 FROM {} WHERE {}", self.table, self.found()))?.exists([now])
    }

    fn correct(&self, conn: &Connection, now: i64) -> rusqlite::Result<usize> {
        let Self { table, until, set_at, changes, .. } = self;
        let found = self.found();
        let sql = format!(
            "UPDATE {table} SET {until} = ?1 + ({until} - {set_at}), {changes} WHERE {found}"
        );
        conn.execute(&sql, [now])
    }
}

fn kinds(is_alone: bool) -> impl Iterator<Item = &'static Kind> {
    std::iter::once(&MESSAGES).chain(&OTHERS).filter(move |kind| is_alone || !kind.is_held)
}

/// The job that corrects such times, if there are any. Those that a live process may hold are left
/// alone unless no other process uses the file.
pub(crate) fn correction(conn: &Connection, now: i64, is_alone: bool) -> Option<Box<dyn Job>> {
    // A read does not wait for other processes, as an update would.
    match exist(conn, now, is_alone) {
        Ok(false) => None,
        Ok(true) => {
            let work = move |tx: &mut Tx<'_>| correct(tx, is_alone);
            Some(Box::new(TypedJob::new("correct_future_times", Box::new(work))))
        }
        Err(error) => {
            tracing::warn!(
                target: "duroxide::providers::sqlite",
                %error,
                "could not check for times of a clock that was set back; messages become visible \
                 and leases end at their stored time"
            );
            None
        }
    }
}

fn exist(conn: &Connection, now: i64, is_alone: bool) -> rusqlite::Result<bool> {
    for kind in kinds(is_alone) {
        if kind.exists(conn, now)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn correct(tx: &mut Tx<'_>, is_alone: bool) -> Result<(), JobError> {
    let found = MESSAGES.found();
    let instances: Vec<Option<String>> = tx
        .conn
        .prepare(&format!("SELECT DISTINCT instance_id FROM orchestrator_queue WHERE {found}"))?
        // An id that is not text belongs to no instance.
        .query_map([tx.now], |row| Ok(row.get(0).ok()))?
        .collect::<Result<_, _>>()?;
    let mut corrected = 0;
    for kind in kinds(is_alone) {
        corrected += kind.correct(tx.conn, tx.now)?;
    }
    // They may come before the listed one now, which need not be one that is visible later.
    for instance in instances.iter().flatten() {
        ready_messages::unlist_all(tx.conn, instance)?;
        ready_messages::list_first(tx, instance)?;
    }
    if corrected > 0 {
        tracing::warn!(
            target: "duroxide::providers::sqlite",
            corrected,
            "the clock was set back while the file was closed; messages from its future are \
             visible now, and leases and delays last for their own length"
        );
        tx.changes.everything();
    }
    Ok(())
}
