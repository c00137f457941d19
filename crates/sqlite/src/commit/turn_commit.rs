//! Committing a turn: history, queues, values and status, all or nothing.

use duroxide_core::providers::kit::{
    EncodedEvent, KvChange, ends_execution, kv_changes, last_custom_status,
};
use duroxide_core::providers::{
    AwaitedEnd, ChangeHub, CommittedTurn, ExecutionMetadata, LeasedWork,
    ScheduledActivityIdentifier, TurnCommit,
};
use rusqlite::{OptionalExtension, params};
use semver::Version;
use uuid::Uuid;

use crate::commit::events::{self, NewEvents};
use crate::commit::kv_changes as kv;
use crate::error::JobError;
use crate::fetch::{messages, turn_lock};
use crate::queues::orchestrator_queue::{self, NewMessage};
use crate::queues::ready_messages;
use crate::queues::worker_queue::{self, NewWork};
use crate::read::inspect;
use crate::schema::number::{from_db, to_db};
use crate::schema::stored_text::stored_integer;
use crate::write::writer::Tx;

/// A commit whose parts are encoded, which the caller does outside the writer thread.
#[derive(Debug)]
pub(crate) struct EncodedCommit {
    lock_token: String,
    execution_id: u64,
    events: Vec<EncodedEvent>,
    kv: Vec<KvChange<String>>,
    /// The last status that the delta sets, if any.
    custom_status: Option<Option<String>>,
    work: Vec<NewWork>,
    messages: Vec<NewMessage>,
    metadata: ExecutionMetadata,
    cancelled: Vec<ScheduledActivityIdentifier>,
    commit_id: Option<u64>,
    awaited_end: Option<AwaitedEnd>,
}

impl EncodedCommit {
    /// Encodes a commit.
    pub(crate) fn encode(commit: &TurnCommit, hub: &ChangeHub) -> Result<Self, JobError> {
        let work = NewWork::encode_all(commit)?;
        // An activity among the messages belongs to the other queue and is left out.
        let messages = commit
            .messages()
            .filter_map(|item| NewMessage::encode(item).transpose())
            .collect::<Result<_, _>>()?;
        // Only the writer knows for sure which instance the lease belongs to.
        let instance = commit.history_delta.last().map_or("", |event| event.instance_id.as_str());
        Ok(Self {
            lock_token: commit.lock_token.clone(),
            execution_id: commit.execution_id,
            events: EncodedEvent::encode_all(&commit.history_delta)?,
            kv: kv_changes(&commit.history_delta, str::to_owned).collect(),
            custom_status: last_custom_status(&commit.history_delta)
                .map(|status| status.map(str::to_owned)),
            work,
            messages,
            metadata: commit.metadata.clone(),
            cancelled: commit.cancelled_activities.clone(),
            commit_id: commit.commit_id,
            awaited_end: hub.awaited_end(instance, &commit.history_delta),
        })
    }

    /// Whether it starts an execution or pins one, given which execution is current.
    pub(crate) fn starts_or_pins(&self, current_execution: u64) -> bool {
        self.execution_id != current_execution || self.metadata.pinned_duroxide_version.is_some()
    }

    /// Whether it ends an execution or starts the next one, so that the instance may need other
    /// code.
    pub(crate) fn ends_or_continues(&self, instance: &str) -> bool {
        self.metadata.status.is_some()
            || self.messages.iter().any(|message| message.starts(instance))
    }
}

/// Commits a turn under a live lease.
pub(crate) fn commit_turn(
    tx: &mut Tx<'_>,
    commit: &EncodedCommit,
) -> Result<CommittedTurn, JobError> {
    let lock = turn_lock::require_live(tx.conn, &commit.lock_token, tx.now)?;
    let stored = stored_instance(tx, &lock.instance)?;
    let starts_or_pins = stored.is_none_or(|(_, current)| commit.starts_or_pins(current));
    let route_before =
        if starts_or_pins || lock.part.has_start || commit.ends_or_continues(&lock.instance) {
            ready_messages::route_behind(tx.conn, &lock.instance, &commit.lock_token)?
        } else {
            None
        };
    messages::delete(tx.conn, &commit.lock_token, &lock)?;
    let instance = lock.instance;
    turn_lock::remove(tx.conn, &commit.lock_token)?;
    let incarnation = match stored {
        Some((incarnation, _)) => Some(incarnation),
        None => create_instance(tx, &instance, commit)?,
    };
    if starts_or_pins {
        create_execution(tx, &instance, commit)?;
    }
    let leased = apply(tx, &instance, commit)?;
    // Messages that arrived under the lease: no dispatcher could fetch them until now.
    let next = ready_messages::list_first(tx, &instance)?;
    if let Some(before) = route_before {
        ready_messages::reroute(tx.conn, &instance, &before)?;
    }
    let more_waits = next.is_some_and(|visible_at| visible_at <= tx.now);
    if more_waits {
        tx.changes.orchestrator_queue();
    }
    record_change(tx, instance, commit)?;
    Ok(CommittedTurn::default()
        .with_incarnation(incarnation)
        .with_leased(leased)
        .with_more_waits(more_waits))
}

/// Incarnation and current execution of an instance that is stored; zero for what cannot be read.
fn stored_instance(tx: &Tx<'_>, instance: &str) -> Result<Option<(u64, u64)>, JobError> {
    Ok(tx
        .conn
        .prepare_cached(
            "SELECT incarnation, current_execution_id FROM instances WHERE instance_id = ?1",
        )?
        .query_row([instance], |row| {
            let number =
                |column| Ok::<_, rusqlite::Error>(stored_integer(row, column)?.map_or(0, from_db));
            Ok((number(0)?, number(1)?))
        })
        .optional()?)
}

/// Records the change of the instance, for its watchers once the turn is durable.
pub(crate) fn record_change(
    tx: &mut Tx<'_>,
    instance: String,
    commit: &EncodedCommit,
) -> Result<(), JobError> {
    let awaited = commit.awaited_end.as_ref().filter(|end| end.instance() == instance);
    if let Some(end) = awaited {
        let (status, version) = inspect::custom_status(tx.conn, &instance, 0)?.unwrap_or_default();
        tx.changes.ended(end.with_custom_status(status, version));
    } else if commit.metadata.status.is_some() {
        tx.changes.instance(instance);
    } else {
        tx.changes.step(instance);
    }
    Ok(())
}

/// Makes the changes of a turn to an instance that is stored.
pub(crate) fn apply(
    tx: &mut Tx<'_>,
    instance: &str,
    commit: &EncodedCommit,
) -> Result<Vec<LeasedWork>, JobError> {
    update_instance(tx, instance, commit)?;
    end_execution(tx, instance, commit)?;
    let EncodedCommit { execution_id, ref events, commit_id, .. } = *commit;
    events::append(tx, &NewEvents { instance, execution_id, events, commit_id })?;
    kv::apply(tx, instance, &commit.kv)?;
    if ends_execution(&commit.metadata) {
        kv::merge(tx.conn, instance)?;
    }
    let leased = worker_queue::insert_all(tx, &commit.work)?;
    // After the inserts: an activity that is scheduled and cancelled in one turn never runs.
    for activity in &commit.cancelled {
        worker_queue::cancel(tx, activity)?;
    }
    orchestrator_queue::insert_all(tx, instance, &commit.messages)?;
    Ok(leased)
}

/// Stores the instance when a commit names it for the first time.
fn create_instance(
    tx: &mut Tx<'_>,
    instance: &str,
    commit: &EncodedCommit,
) -> Result<Option<u64>, JobError> {
    let metadata = &commit.metadata;
    let (Some(name), Some(version)) =
        (&metadata.orchestration_name, &metadata.orchestration_version)
    else {
        return Ok(None);
    };
    let incarnation = new_incarnation();
    // A parent that was deleted meanwhile is left out: only roots can be deleted.
    tx.conn
        .prepare_cached(
            "INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
                 current_execution_id, created_at, updated_at, parent_instance_id, incarnation)
             VALUES (?1, ?2, ?3, ?4, ?5, ?5,
                 (SELECT instance_id FROM instances WHERE instance_id = ?6), ?7)",
        )?
        .execute(params![
            instance,
            name,
            version,
            to_db(commit.execution_id),
            tx.now,
            metadata.parent_instance_id,
            incarnation
        ])?;
    orchestrator_queue::unpark(tx.conn, instance)?;
    Ok(Some(from_db(incarnation)))
}

/// A random number that is not zero, so that an instance with a reused id gets another one.
fn new_incarnation() -> i64 {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    to_db((random >> 1).max(1))
}

fn update_instance(tx: &Tx<'_>, instance: &str, commit: &EncodedCommit) -> Result<(), JobError> {
    let metadata = &commit.metadata;
    let named = metadata.orchestration_name.as_ref().zip(metadata.orchestration_version.as_ref());
    let (name, version) = named.unzip();
    tx.conn
        .prepare_cached(
            "UPDATE instances SET
                 orchestration_name = coalesce(?2, orchestration_name),
                 orchestration_version = coalesce(?3, orchestration_version),
                 current_execution_id = CASE typeof(current_execution_id)
                     WHEN 'integer' THEN max(current_execution_id, ?4) ELSE ?4 END,
                 updated_at = ?5,
                 suspended_since = NULL,
                 custom_status = CASE WHEN ?6 THEN ?7 ELSE custom_status END,
                 custom_status_version = custom_status_version + ?6
             WHERE instance_id = ?1",
        )?
        .execute(params![
            instance,
            name,
            version,
            to_db(commit.execution_id),
            tx.now,
            i64::from(commit.custom_status.is_some()),
            commit.custom_status.as_ref().and_then(Option::as_ref),
        ])?;
    Ok(())
}

/// Stores the execution when a commit names it for the first time, and its pin.
pub(crate) fn create_execution(
    tx: &Tx<'_>,
    instance: &str,
    commit: &EncodedCommit,
) -> Result<(), JobError> {
    let execution_id = to_db(commit.execution_id);
    tx.conn
        .prepare_cached(
            "INSERT INTO executions (instance_id, execution_id, status, started_at)
             VALUES (?1, ?2, 'Running', ?3)
             ON CONFLICT (instance_id, execution_id) DO NOTHING",
        )?
        .execute(params![instance, execution_id, tx.now])?;
    if let Some(pin) = &commit.metadata.pinned_duroxide_version {
        write_pin(tx, instance, execution_id, pin)?;
    }
    Ok(())
}

fn end_execution(tx: &Tx<'_>, instance: &str, commit: &EncodedCommit) -> Result<(), JobError> {
    let execution_id = to_db(commit.execution_id);
    if let Some(status) = &commit.metadata.status {
        tx.conn
            .prepare_cached(
                "UPDATE executions SET status = ?3, output = ?4, completed_at = ?5
                 WHERE instance_id = ?1 AND execution_id = ?2",
            )?
            .execute(params![instance, execution_id, status, commit.metadata.output, tx.now])?;
    }
    Ok(())
}

fn write_pin(
    tx: &Tx<'_>,
    instance: &str,
    execution_id: i64,
    pin: &Version,
) -> Result<(), JobError> {
    tx.conn
        .prepare_cached(
            "UPDATE executions SET duroxide_version = ?3, duroxide_version_major = ?4,
                 duroxide_version_minor = ?5, duroxide_version_patch = ?6
             WHERE instance_id = ?1 AND execution_id = ?2",
        )?
        .execute(params![
            instance,
            execution_id,
            pin.to_string(),
            to_db(pin.major),
            to_db(pin.minor),
            to_db(pin.patch)
        ])?;
    Ok(())
}
