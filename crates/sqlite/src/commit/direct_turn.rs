//! Committing a turn that was not fetched.
//!
//! The caller ran it on the history that it holds, without a lease on the instance. The turn is
//! valid only if nothing has happened to the instance meanwhile; the transaction that stores it
//! checks that.

use duroxide_core::providers::{ChangeHub, CommittedTurn, DirectTurn, HistoryMark};
use rusqlite::{OptionalExtension, params};

use crate::commit::turn_commit::{self, EncodedCommit, StoredInstance};
use crate::error::JobError;
use crate::queues::{ready_messages, work_lock};
use crate::schema::number::to_db;
use crate::write::writer::Tx;

/// A direct turn whose parts are encoded.
#[derive(Debug)]
pub(crate) struct EncodedDirectTurn {
    instance: String,
    mark: HistoryMark,
    finished_work: Vec<String>,
    commit: EncodedCommit,
}

impl EncodedDirectTurn {
    /// Encodes a turn.
    pub(crate) fn encode(turn: &DirectTurn, hub: &ChangeHub) -> Result<Self, JobError> {
        Ok(Self {
            instance: turn.instance.clone(),
            mark: turn.mark,
            finished_work: turn.finished_work.clone(),
            commit: EncodedCommit::encode(&turn.commit, hub)?,
        })
    }
}

/// Commits a turn, if it follows what is stored; `None` and no change otherwise.
pub(crate) fn commit_direct_turn(
    tx: &mut Tx<'_>,
    turn: &EncodedDirectTurn,
) -> Result<Option<CommittedTurn>, JobError> {
    let Some(queue) = follows(tx, turn)? else { return Ok(None) };
    for token in &turn.finished_work {
        work_lock::complete(tx, token, None)?;
    }
    // Rare: the current execution is stored already, as the mark shows.
    let starts_or_pins = turn.commit.starts_or_pins(turn.mark.execution_id);
    let may_move = starts_or_pins || turn.commit.ends_or_continues(&turn.instance);
    if starts_or_pins {
        turn_commit::create_execution(tx, &turn.instance, &turn.commit)?;
    }
    let leased = turn_commit::apply(tx, &turn.instance, &turn.commit, Some(&queue.stored))?;
    if queue.has_messages && may_move {
        ready_messages::reroute(tx.conn, &turn.instance)?;
    }
    turn_commit::record_change(tx, turn.instance.clone(), &turn.commit)?;
    Ok(Some(
        CommittedTurn::default().with_incarnation(Some(turn.mark.incarnation)).with_leased(leased),
    ))
}

/// An instance whose next turn may be a direct one.
struct Queue {
    /// None of them is visible.
    has_messages: bool,
    stored: StoredInstance,
}

/// Whether the history ends at the mark, no lease holds the instance and no message waits for it.
fn follows(tx: &Tx<'_>, turn: &EncodedDirectTurn) -> Result<Option<Queue>, JobError> {
    let EncodedDirectTurn { instance, mark, commit, .. } = turn;
    let (execution_id, event_id) = (to_db(mark.execution_id), to_db(mark.event_id));
    let commit_id = mark.commit_id.map(to_db);
    let found = tx
        .conn
        .prepare_cached(FOLLOWS_SQL)?
        .query_row(params![instance, execution_id, tx.now, event_id, commit_id], |row| {
            Ok((
                row.get::<_, Option<bool>>(0)?,
                row.get::<_, bool>(1)?,
                row.get::<_, Option<i64>>(2)?,
                StoredInstance::read(row, 3, commit.metadata())?,
            ))
        })
        .optional()?;
    let Some((ends, is_leased, visible_at, stored)) = found else { return Ok(None) };
    let is_current = stored.incarnation == mark.incarnation
        && stored.current_execution == mark.execution_id
        // Without events, the history ends before the first one.
        && ends.unwrap_or(mark.event_id == 0 && mark.commit_id.is_none());
    let waits = visible_at.is_some_and(|visible_at| visible_at <= tx.now);
    let queue = Queue { has_messages: visible_at.is_some(), stored };
    Ok(Some(queue).filter(|_| is_current && !is_leased && !waits))
}

pub(crate) const FOLLOWS_SQL: &str = "SELECT (
         SELECT event_id = ?4 AND (?5 IS NULL OR commit_id IS ?5) FROM history
         WHERE instance_id = ?1 AND execution_id = ?2 ORDER BY event_id DESC LIMIT 1),
     EXISTS (SELECT 1 FROM instance_locks WHERE instance_id = ?1 AND locked_until > ?3),
     (SELECT min(visible_at) FROM orchestrator_queue INDEXED BY idx_orch_instance
         WHERE instance_id = ?1 AND parked = 0),
     rowid, incarnation, current_execution_id, orchestration_name, orchestration_version,
     suspended_since IS NOT NULL
     FROM instances WHERE instance_id = ?1";
