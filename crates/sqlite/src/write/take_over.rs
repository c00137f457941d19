//! Ends the leases of a process that is dead, so that others lease its work at once.
//!
//! They end as if they had expired: the attempts count as they do then.

use rusqlite::params;

use crate::error::JobError;
use crate::files::presence::DeadOwner;
use crate::write::holder;
use crate::write::job::Job;
use crate::write::writer::Tx;

/// The job for one dead process. Its file is removed once the leases have ended.
pub(crate) struct TakeOver {
    dead: DeadOwner,
    is_done: bool,
}

impl TakeOver {
    pub(crate) fn job(dead: DeadOwner) -> Box<dyn Job> {
        Box::new(Self { dead, is_done: false })
    }
}

impl Job for TakeOver {
    fn is_durable(&self) -> bool {
        false
    }

    fn acquires_leases(&self) -> bool {
        false
    }

    fn is_abandoned(&self) -> bool {
        true
    }

    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        let ended = end_leases(tx, &self.dead.id);
        self.is_done = ended.is_ok();
        match ended {
            Ok(0) => {}
            Ok(leases) => tracing::info!(
                target: "duroxide::providers::sqlite",
                leases,
                "another process that used the database has ended; its leases end now"
            ),
            Err(error) => tracing::warn!(
                target: "duroxide::providers::sqlite",
                %error,
                "cannot end the leases of a process that has ended; trying again"
            ),
        }
        self.is_done
    }

    fn fail(&mut self, _error: &JobError) {
        self.is_done = false;
    }

    fn respond(self: Box<Self>) -> Option<Box<dyn Job>> {
        if self.is_done {
            self.dead.remove();
        }
        None
    }
}

/// Ends all leases of a holder; returns how many there were.
fn end_leases(tx: &mut Tx<'_>, id: &str) -> Result<usize, JobError> {
    let first = holder::marks_of(id);
    let mut ended = 0;
    for sql in [TURNS_SQL, WORK_SQL] {
        ended += tx.conn.prepare_cached(sql)?.execute(params![tx.now, first])?;
    }
    ended += tx.conn.prepare_cached(SESSIONS_SQL)?.execute(params![tx.now, id])?;
    if ended > 0 {
        tx.changes.everything();
    }
    Ok(ended)
}

const TURNS_SQL: &str = "UPDATE instance_locks INDEXED BY idx_locks_until SET locked_until = ?1
     WHERE locked_until > ?1 AND substr(lock_token, 1, length(?2)) = ?2";

const WORK_SQL: &str = "UPDATE worker_queue INDEXED BY idx_worker_lease SET locked_until = ?1
     WHERE locked_until IS NOT NULL AND locked_until > ?1
         AND substr(lock_token, 1, length(?2)) = ?2";

const SESSIONS_SQL: &str = "UPDATE sessions INDEXED BY idx_sessions_until SET locked_until = ?1
     WHERE expired = 0 AND locked_until > ?1 AND held_by = ?2";
