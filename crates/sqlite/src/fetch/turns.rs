//! Leasing turns.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use duroxide_core::model::INITIAL_EXECUTION_ID;
use duroxide_core::providers::kit::StartedOrchestration;
use duroxide_core::providers::{
    DeferredHistory, FetchFilter, HistoryMark, KnownHistory, KvEntry, LeaseHolders,
};
use rusqlite::{Connection, OptionalExtension};

use crate::error::JobError;
use crate::fetch::attempts;
use crate::fetch::candidates::Candidates;
use crate::fetch::held;
use crate::fetch::messages::{self, TurnMessages};
use crate::fetch::turn_lock::{self, Release, TurnToken};
use crate::limits;
use crate::queues::orchestrator_queue;
use crate::read::history::{self, HistoryPart, PartSize};
use crate::read::kv;
use crate::schema::number::from_db;
use crate::schema::stored_text::stored_integer;
use crate::write::writer::Tx;

/// What a dispatcher requests.
pub(crate) struct TurnRequest {
    pub(crate) turns_max: usize,
    pub(crate) lock_for: i64,
    pub(crate) filter: Arc<FetchFilter>,
    pub(crate) known: Option<Arc<dyn KnownHistory>>,
    /// Nodes of this process, whose expired leases are extended.
    pub(crate) holders: LeaseHolders,
    /// The caller reads long histories for itself.
    pub(crate) defers_histories: bool,
}

/// What a fetch found.
#[derive(Debug)]
pub(crate) struct TurnBatch {
    pub(crate) turns: Vec<RawTurn>,
    /// When something may become fetchable although nothing changes.
    pub(crate) next_due: Option<u64>,
    /// The job stopped before it had checked every candidate.
    pub(crate) unfinished: bool,
    /// When the leases began.
    pub(crate) leased_at: Instant,
}

/// A leased turn whose texts are not decoded yet: the caller does that, not the writer thread.
#[derive(Debug)]
pub(crate) struct RawTurn {
    pub(crate) instance: String,
    pub(crate) identity: Identity,
    pub(crate) stored: Stored,
    pub(crate) messages: TurnMessages,
    pub(crate) lock_token: String,
    /// Why the turn comes without anything that is stored about the instance.
    pub(crate) damage: Option<String>,
}

/// Which code an instance runs.
#[derive(Debug)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) execution_id: u64,
    /// `None` while the instance is not stored.
    incarnation: Option<u64>,
    /// Neither the instance nor a history is stored.
    is_new: bool,
}

impl Identity {
    fn not_stored(started: StartedOrchestration, execution_id: u64) -> Self {
        let StartedOrchestration { name, version, .. } = started;
        Self { name, version, execution_id, incarnation: None, is_new: false }
    }
}

/// Locks up to `turns_max` instances that have visible messages.
pub(crate) fn fetch_turns(tx: &mut Tx<'_>, request: &TurnRequest) -> Result<TurnBatch, JobError> {
    let turns_max = request.turns_max.min(limits::TURNS_PER_FETCH_MAX);
    let leased_at = Instant::now();
    let mut turns = Vec::new();
    let mut candidates = Candidates::new(tx, &request.filter)?;
    if candidates.has_expired() {
        held::renew_turns(tx, &request.holders, request.lock_for)?;
    }
    let mut unfinished = true;
    let mut room = Room::default();
    for _ in 0..limits::FETCH_ROUNDS_MAX {
        let wanted = if room.is_left() { turns_max - turns.len() } else { 0 };
        if wanted == 0 {
            unfinished = false;
            break;
        }
        let found = candidates.next(tx, wanted)?;
        unfinished = found.unfinished || found.is_full && !found.instances.is_empty();
        for instance in found.instances {
            if !room.is_left() {
                break;
            }
            let turn = lease_turn(tx, request, instance)?;
            turn.iter().for_each(|turn| room.occupy(turn, request.defers_histories));
            turns.extend(turn);
        }
        if !unfinished {
            break;
        }
    }
    let next_due = if turns.is_empty() { candidates.next_due(tx)? } else { None };
    Ok(TurnBatch { turns, next_due, unfinished, leased_at })
}

/// What one fetch may still read. The first turn is always leased, whatever its size.
#[derive(Default)]
struct Room {
    bytes: usize,
    /// Of long histories that the fetch has to return.
    events: u64,
}

impl Room {
    fn is_left(&self) -> bool {
        self.bytes < limits::FETCH_BYTES_MAX && self.events < limits::FETCH_EVENTS_MAX
    }

    fn occupy(&mut self, turn: &RawTurn, defers_histories: bool) {
        self.bytes += turn.messages.bytes;
        match &turn.stored.history {
            StoredHistory::Here(part) => self.bytes += part.bytes,
            StoredHistory::Long(history) if !defers_histories => self.events += history.events,
            StoredHistory::Long(_) => {}
        }
    }
}

/// Releases turns whose fetch was dropped, as if they had not been fetched.
pub(crate) fn undo(tx: &mut Tx<'_>, batch: &TurnBatch) -> Result<(), JobError> {
    for turn in &batch.turns {
        match turn_lock::abandon(tx, &turn.lock_token, Release::UNTOUCHED) {
            // Another dispatcher has leased or deleted it since: there is nothing to release.
            Ok(()) | Err(JobError::Refused(..)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Locks an instance and reads what its turn needs.
///
/// Rows that cannot be read must not fail the fetch, which other instances share. The turn comes
/// without them, so that attempts are counted and the runtime can fail the instance. Nothing has to
/// be undone for that: the statements that read such rows come before those that write.
fn lease_turn(
    tx: &mut Tx<'_>,
    request: &TurnRequest,
    instance: String,
) -> Result<Option<RawTurn>, JobError> {
    let mut damage = None;
    let known = match identify(tx, &instance) {
        Err(error) if error.is_damage() => {
            damage = Some(error);
            Known::As(identity_of_damaged(tx.conn, &instance)?)
        }
        identified => identified?,
    };
    // The messages wait until the rows of a deleted instance are gone.
    if matches!(known, Known::AsDeleted) {
        return Ok(None);
    }
    let messages = messages::choose(tx, &instance)?;
    let identity = match known {
        Known::As(identity) => Some(identity),
        Known::AsDeleted | Known::No => messages.first_start().and_then(identity_from_message),
    };
    let Some(identity) = identity else {
        orchestrator_queue::set_aside(tx, &instance)?;
        return Ok(None);
    };
    if messages.had_lease {
        attempts::excuse_expired(tx, &instance)?;
    }
    let mark = tx.holder.new_mark();
    let token = TurnToken { mark: &mark, instance: &instance };
    let until = tx.now.saturating_add(request.lock_for);
    if !turn_lock::acquire(tx, token, until, messages.part)? {
        return Ok(None);
    }
    messages::tag(tx, token, &messages)?;
    let lock_token = turn_lock::token(&mark, &instance);
    let mark = request.known.as_ref().and_then(|known| known.mark(&instance));
    let stored = match damage {
        Some(error) => Err(error),
        None => read_stored(tx.conn, &instance, &identity, mark),
    };
    let (stored, damage) = match stored {
        Err(error) if error.is_damage() => {
            tracing::error!(
                target: "duroxide::providers::sqlite",
                instance_id = %instance,
                %error,
                "a row of an instance cannot be read; its turn runs without the stored state"
            );
            (Stored::default(), Some(format!("a row of the instance cannot be read: {error}")))
        }
        stored => (stored?, None),
    };
    Ok(Some(RawTurn { instance, identity, stored, messages, lock_token, damage }))
}

/// What is stored about the current execution and the caller does not hold.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    pub(crate) history: StoredHistory,
    pub(crate) history_after: u64,
    pub(crate) kv_snapshot: HashMap<String, KvEntry>,
}

/// The part of a history that the caller does not hold.
#[derive(Debug)]
pub(crate) enum StoredHistory {
    Here(HistoryPart),
    /// Too long for the writer thread.
    Long(DeferredHistory),
}

impl Default for StoredHistory {
    fn default() -> Self {
        Self::Here(HistoryPart::default())
    }
}

fn read_stored(
    conn: &Connection,
    instance: &str,
    identity: &Identity,
    mark: Option<HistoryMark>,
) -> Result<Stored, JobError> {
    if identity.is_new {
        return Ok(Stored::default());
    }
    let execution_id = identity.execution_id;
    let history_after = held_history(conn, instance, identity, mark)?;
    let part = history::part_after(conn, instance, execution_id, history_after, PartSize::INLINE)?;
    if part.more {
        let events = history::last_event(conn, instance, execution_id)?;
        let bytes_per_event = part.bytes.div_ceil(part.texts.len().max(1)) as u64;
        let long = DeferredHistory::new(events, events.saturating_mul(bytes_per_event));
        return Ok(Stored { history: StoredHistory::Long(long), ..Stored::default() });
    }
    // An execution in memory has its key-value state.
    let kv_snapshot =
        if history_after == 0 { kv::snapshot(conn, instance)? } else { HashMap::new() };
    Ok(Stored { history: StoredHistory::Here(part), history_after, kv_snapshot })
}

/// The last event that the caller holds of exactly this execution of exactly this instance.
fn held_history(
    conn: &Connection,
    instance: &str,
    identity: &Identity,
    mark: Option<HistoryMark>,
) -> Result<u64, JobError> {
    let fitting = mark.filter(|mark| {
        identity.incarnation == Some(mark.incarnation) && identity.execution_id == mark.execution_id
    });
    let Some(mark) = fitting else { return Ok(0) };
    // A file restored from a backup may hold less than the caller, or other events.
    let stored = history::has_event(conn, instance, &mark)?;
    Ok(if stored { mark.event_id } else { 0 })
}

/// What is stored of an instance.
enum Known {
    As(Identity),
    /// Its rows are being removed.
    AsDeleted,
    No,
}

/// Finds out what an instance runs.
fn identify(tx: &Tx<'_>, instance: &str) -> Result<Known, JobError> {
    let stored = tx
        .conn
        .prepare_cached(
            "SELECT orchestration_name, orchestration_version, current_execution_id, incarnation
             FROM instances WHERE instance_id = ?1",
        )?
        .query_row([instance], |row| {
            Ok(Identity {
                name: row.get(0)?,
                version: row.get(1)?,
                execution_id: from_db(row.get(2)?),
                incarnation: Some(from_db(row.get(3)?)),
                is_new: false,
            })
        })
        .optional()?;
    if let Some(identity) = stored {
        return Ok(Known::As(identity));
    }
    let (is_deleted, last_execution): (bool, Option<i64>) = tx
        .conn
        .prepare_cached(LEFT_SQL)?
        .query_row([instance], |row| Ok((row.get(0)?, stored_integer(row, 1)?)))?;
    match last_execution {
        _ if is_deleted => Ok(Known::AsDeleted),
        // History without an instance row comes from seeding.
        Some(execution_id) => {
            identity_of_execution(tx.conn, instance, from_db(execution_id)).map(Known::As)
        }
        None => Ok(Known::No),
    }
}

// What is left of an instance that is not stored.
const LEFT_SQL: &str = "SELECT EXISTS (
         SELECT 1 FROM deletions WHERE instance_id = ?1 AND execution_id IS NULL),
     (SELECT max(execution_id) FROM history WHERE instance_id = ?1)";

/// The row of the instance cannot be read; its history may be.
fn identity_of_damaged(conn: &Connection, instance: &str) -> Result<Identity, JobError> {
    identity_of_execution(conn, instance, history::current_execution(conn, instance)?)
}

fn identity_of_execution(
    conn: &Connection,
    instance: &str,
    execution_id: u64,
) -> Result<Identity, JobError> {
    let first = history::first_text(conn, instance, execution_id)?;
    let started = StartedOrchestration::from_first_event(first.as_deref());
    Ok(Identity::not_stored(started, execution_id))
}

fn identity_from_message(text: &str) -> Option<Identity> {
    let message = serde_json::from_str(text).ok()?;
    let started = StartedOrchestration::from_message(&message)?;
    Some(Identity { is_new: true, ..Identity::not_stored(started, INITIAL_EXECUTION_ID) })
}
