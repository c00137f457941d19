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
use crate::fetch::turn_lock::{self, Release};
use crate::queues::orchestrator_queue;
use crate::read::history::{self, HistoryPart, PartSize};
use crate::read::kv;
use crate::schema::number::from_db;
use crate::write::writer::Tx;
use crate::{deletion_slices, limits};

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
}

impl Identity {
    fn not_stored(started: StartedOrchestration, execution_id: u64) -> Self {
        let StartedOrchestration { name, version, .. } = started;
        Self { name, version, execution_id, incarnation: None }
    }
}

/// Locks up to `turns_max` instances that have visible messages.
pub(crate) fn fetch_turns(tx: &mut Tx<'_>, request: &TurnRequest) -> Result<TurnBatch, JobError> {
    let turns_max = request.turns_max.min(limits::TURNS_PER_FETCH_MAX);
    let leased_at = Instant::now();
    held::renew_turns(tx, &request.holders, request.lock_for)?;
    let mut turns = Vec::new();
    let mut candidates = Candidates::new(tx.conn, &request.filter)?;
    let mut unfinished = true;
    let mut room = Room::default();
    for _ in 0..limits::FETCH_ROUNDS_MAX {
        let wanted = if room.is_left() { turns_max - turns.len() } else { 0 };
        let found = candidates.next(tx, wanted)?;
        if found.instances.is_empty() && !found.unfinished {
            unfinished = false;
            break;
        }
        for instance in found.instances {
            if !room.is_left() {
                break;
            }
            let turn = lease_turn(tx, request, instance)?;
            turn.iter().for_each(|turn| room.occupy(turn, request.defers_histories));
            turns.extend(turn);
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
    let identity = match identify(tx, &instance) {
        Err(error) if error.is_damage() => {
            damage = Some(error);
            Some(identity_of_damaged(tx.conn, &instance)?)
        }
        identified => identified?,
    };
    let Some(identity) = identity else { return Ok(None) };
    let messages = messages::choose(tx, &instance)?;
    if messages.had_lease {
        attempts::excuse_expired(tx, &instance)?;
    }
    let lock_token = tx.holder.new_mark();
    let until = tx.now.saturating_add(request.lock_for);
    if !turn_lock::acquire(tx, &instance, &lock_token, until, messages.part)? {
        return Ok(None);
    }
    messages::tag(tx, &instance, &lock_token, &messages)?;
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

/// Finds out what an instance runs; `None` if it is unknown, in which case its messages have been
/// dropped or parked.
fn identify(tx: &mut Tx<'_>, instance: &str) -> Result<Option<Identity>, JobError> {
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
            })
        })
        .optional()?;
    if stored.is_some() {
        return Ok(stored);
    }
    if deletion_slices::hides(tx.conn, instance, None)? {
        // The messages wait until the rows of the deleted instance are gone.
        return Ok(None);
    }
    if let Some(seeded) = identity_from_history(tx.conn, instance)? {
        return Ok(Some(seeded));
    }
    let start = messages::visible_start(tx.conn, instance, tx.now)?;
    let started = start.as_deref().and_then(identity_from_message);
    if started.is_none() {
        orchestrator_queue::set_aside(tx, instance)?;
    }
    Ok(started)
}

/// History without an instance row comes from seeding.
fn identity_from_history(conn: &Connection, instance: &str) -> Result<Option<Identity>, JobError> {
    let execution_id = history::last_execution(conn, instance)?;
    let Some(execution_id) = execution_id else { return Ok(None) };
    identity_of_execution(conn, instance, execution_id).map(Some)
}

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
    Some(Identity::not_stored(started, INITIAL_EXECUTION_ID))
}
