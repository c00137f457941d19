//! Committing a turn: history, queues, values and status, all or nothing.

use duroxide_core::providers::kit::{
    EncodedEvent, KvChange, ends_execution, last_custom_status, last_kv_changes,
};
use duroxide_core::providers::{
    AwaitedEnd, ChangeHub, CommittedTurn, ExecutionMetadata, LeasedWork,
    ScheduledActivityIdentifier, TurnCommit,
};
use rusqlite::types::ValueRef;
use rusqlite::{OptionalExtension, Row, params};
use semver::Version;
use uuid::Uuid;

use crate::commit::events::{self, NewEvents};
use crate::commit::kv_changes as kv;
use crate::error::JobError;
use crate::fetch::messages::{self, QueuePart};
use crate::fetch::turn_lock::{self, TurnLock, TurnToken};
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
            kv: last_kv_changes(&commit.history_delta, str::to_owned),
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

    /// What it says about the instance.
    pub(crate) fn metadata(&self) -> &ExecutionMetadata {
        &self.metadata
    }

    /// The same commit, for whose end no client waits.
    pub(crate) fn unawaited(mut self) -> Self {
        self.awaited_end = None;
        self
    }

    /// The same commit, after which the instance has this custom status.
    pub(crate) fn with_custom_status(mut self, custom_status: Option<String>) -> Self {
        self.custom_status = Some(custom_status);
        self
    }

    /// Prepares a commit that was not made for a lease: it runs under this one, and messages that
    /// are due keep their order.
    pub(crate) fn run_under(&mut self, lock_token: String, now: i64) {
        self.lock_token = lock_token;
        self.messages.iter_mut().for_each(|message| message.order_if_due(now));
    }

    /// Whether it starts an execution or pins one, given which execution is current.
    pub(crate) fn starts_or_pins(&self, current_execution: u64) -> bool {
        self.execution_id != current_execution || self.metadata.pinned_duroxide_version.is_some()
    }

    /// Whether it adds messages for its own instance.
    fn has_messages_for(&self, instance: &str) -> bool {
        self.messages.iter().any(|message| message.is_for(instance))
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
    let token = TurnToken::parse(&commit.lock_token)?;
    let LeasedInstance { lock, stored, has_others, has_parked } =
        leased_instance(tx, token, commit)?;
    lock.check_live(tx.now)?;
    let instance = token.instance;
    let starts_or_pins =
        stored.as_ref().is_none_or(|stored| commit.starts_or_pins(stored.current_execution));
    let moves = starts_or_pins || lock.part.has_start || commit.ends_or_continues(instance);
    let deleted = messages::delete(tx.conn, &lock)?;
    turn_lock::remove(tx.conn, instance)?;
    let incarnation = match &stored {
        Some(stored) => Some(stored.incarnation),
        None => create_instance(tx, instance, commit, has_parked)?,
    };
    if starts_or_pins {
        create_execution(tx, instance, commit)?;
    }
    let leased = apply(tx, instance, commit, stored.as_ref())?;
    // The message of most turns is the only one.
    let was_alone = deleted == 1 && !has_others && !has_parked;
    let more_waits = if was_alone && !commit.has_messages_for(instance) {
        false
    } else {
        list_next(tx, instance, moves)?
    };
    record_change(tx, instance.to_owned(), commit)?;
    Ok(CommittedTurn::default()
        .with_incarnation(incarnation)
        .with_leased(leased)
        .with_more_waits(more_waits))
}

/// Lists the next message, which no dispatcher could fetch under the lease; returns whether it is
/// visible.
fn list_next(tx: &mut Tx<'_>, instance: &str, moves: bool) -> Result<bool, JobError> {
    let next = if moves {
        ready_messages::list_rerouted(tx, instance)?
    } else {
        ready_messages::list_first(tx, instance)?
    };
    let is_visible = next.is_some_and(|visible_at| visible_at <= tx.now);
    if is_visible {
        tx.changes.orchestrator_queue();
    }
    Ok(is_visible)
}

/// A lease, and what is stored of its instance.
struct LeasedInstance<'a> {
    lock: TurnLock<'a>,
    stored: Option<StoredInstance>,
    /// More than one message is in the queue.
    has_others: bool,
    /// Messages were parked before the instance is stored.
    has_parked: bool,
}

fn leased_instance<'a>(
    tx: &Tx<'_>,
    token: TurnToken<'a>,
    commit: &EncodedCommit,
) -> Result<LeasedInstance<'a>, JobError> {
    tx.conn
        .prepare_cached(LEASED_SQL)?
        .query_row([token.instance, token.mark], |row| {
            let lock = TurnLock { token, until: row.get(0)?, part: QueuePart::read(row, 1)? };
            let stored = if row.get_ref(7)? == ValueRef::Null {
                None
            } else {
                Some(StoredInstance::read(row, 7, &commit.metadata)?)
            };
            let (has_others, has_parked) = (row.get(5)?, row.get(6)?);
            Ok(LeasedInstance { lock, stored, has_others, has_parked })
        })
        .optional()?
        .ok_or_else(turn_lock::unknown_token)
}

const LEASED_SQL: &str =
    "SELECT l.locked_until, l.last_visible_at, l.last_id, l.start_id, l.has_start,
     EXISTS (SELECT 1 FROM orchestrator_queue INDEXED BY idx_orch_instance
         WHERE instance_id = ?1 AND parked = 0 LIMIT 1 OFFSET 1),
     i.rowid IS NULL AND EXISTS (SELECT 1 FROM orchestrator_queue INDEXED BY idx_orch_instance
         WHERE instance_id = ?1 AND parked = 1),
     i.rowid, i.incarnation, i.current_execution_id, i.orchestration_name,
     i.orchestration_version, i.suspended_since IS NOT NULL
     FROM instance_locks l LEFT JOIN instances i ON i.instance_id = l.instance_id
     WHERE l.instance_id = ?1 AND l.lock_token = ?2";

/// What is stored of an instance; zero for what cannot be read.
pub(crate) struct StoredInstance {
    row: i64,
    pub(crate) incarnation: u64,
    pub(crate) current_execution: u64,
    /// The commit names another orchestration or version.
    is_renamed: bool,
    is_suspended: bool,
}

impl StoredInstance {
    /// Reads it from the columns from `column` on.
    pub(crate) fn read(
        row: &Row<'_>,
        column: usize,
        metadata: &ExecutionMetadata,
    ) -> rusqlite::Result<Self> {
        let number =
            |column| Ok::<_, rusqlite::Error>(stored_integer(row, column)?.map_or(0, from_db));
        Ok(Self {
            row: row.get(column)?,
            incarnation: number(column + 1)?,
            current_execution: number(column + 2)?,
            is_renamed: is_renamed(row, column + 3, metadata)?,
            is_suspended: row.get(column + 5)?,
        })
    }
}

/// Whether a commit names another orchestration or version than the columns from `column` on. A
/// write of the same name would still cost an entry in the index of names.
fn is_renamed(
    row: &Row<'_>,
    column: usize,
    metadata: &ExecutionMetadata,
) -> rusqlite::Result<bool> {
    let (Some(name), Some(version)) =
        (&metadata.orchestration_name, &metadata.orchestration_version)
    else {
        return Ok(false);
    };
    let differs = |column, text: &String| {
        Ok::<_, rusqlite::Error>(row.get_ref(column)? != ValueRef::Text(text.as_bytes()))
    };
    Ok(differs(column, name)? || differs(column + 1, version)?)
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

/// Makes the changes of a turn to an instance, which was stored before unless the turn creates it.
pub(crate) fn apply(
    tx: &mut Tx<'_>,
    instance: &str,
    commit: &EncodedCommit,
    stored: Option<&StoredInstance>,
) -> Result<Vec<LeasedWork>, JobError> {
    if let Some(stored) = stored {
        update_instance(tx, stored, commit)?;
    }
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
    has_parked: bool,
) -> Result<Option<u64>, JobError> {
    let metadata = &commit.metadata;
    let (Some(name), Some(version)) =
        (&metadata.orchestration_name, &metadata.orchestration_version)
    else {
        return Ok(None);
    };
    let incarnation = new_incarnation();
    // A parent that was deleted meanwhile is left out: only roots can be deleted. One that is being
    // deleted counts: the deletion finds its new child, which must not run without it.
    tx.conn
        .prepare_cached(
            "INSERT INTO instances (instance_id, orchestration_name, orchestration_version,
                 current_execution_id, created_at, updated_at, parent_instance_id, incarnation,
                 custom_status, custom_status_version)
             VALUES (?1, ?2, ?3, ?4, ?5, ?5,
                 CASE WHEN ?6 IS NOT NULL THEN
                     coalesce((SELECT instance_id FROM instances WHERE instance_id = ?6), (
                         SELECT instance_id FROM deletions
                         WHERE instance_id = ?6 AND execution_id IS NULL LIMIT 1)) END,
                 ?7, ?8, ?9)",
        )?
        .execute(params![
            instance,
            name,
            version,
            to_db(commit.execution_id),
            tx.now,
            metadata.parent_instance_id,
            incarnation,
            commit.custom_status.as_ref().and_then(Option::as_ref),
            commit.custom_status.is_some()
        ])?;
    if has_parked {
        orchestrator_queue::unpark(tx.conn, instance)?;
    }
    Ok(Some(from_db(incarnation)))
}

/// A random number that is not zero, so that an instance with a reused id gets another one.
pub(crate) fn new_incarnation() -> i64 {
    let (random, _) = Uuid::new_v4().as_u64_pair();
    to_db((random >> 1).max(1))
}

fn update_instance(
    tx: &Tx<'_>,
    stored: &StoredInstance,
    commit: &EncodedCommit,
) -> Result<(), JobError> {
    tx.conn
        .prepare_cached(
            "UPDATE instances SET updated_at = ?2,
                 current_execution_id = CASE typeof(current_execution_id)
                     WHEN 'integer' THEN max(current_execution_id, ?3) ELSE ?3 END
             WHERE rowid = ?1",
        )?
        .execute(params![stored.row, tx.now, to_db(commit.execution_id)])?;
    if let Some(custom_status) = &commit.custom_status {
        tx.conn
            .prepare_cached(
                "UPDATE instances
                 SET custom_status = ?2, custom_status_version = custom_status_version + 1
                 WHERE rowid = ?1",
            )?
            .execute(params![stored.row, custom_status])?;
    }
    // Only what changes is written: each of these columns costs a look at an index.
    if stored.is_suspended {
        tx.conn
            .prepare_cached("UPDATE instances SET suspended_since = NULL WHERE rowid = ?1")?
            .execute([stored.row])?;
    }
    if stored.is_renamed {
        let metadata = &commit.metadata;
        let (name, version) = (&metadata.orchestration_name, &metadata.orchestration_version);
        tx.conn
            .prepare_cached(
                "UPDATE instances SET orchestration_name = ?2, orchestration_version = ?3
                 WHERE rowid = ?1",
            )?
            .execute(params![stored.row, name, version])?;
    }
    Ok(())
}

/// Stores the execution when a commit names it for the first time, and its pin.
pub(crate) fn create_execution(
    tx: &Tx<'_>,
    instance: &str,
    commit: &EncodedCommit,
) -> Result<(), JobError> {
    let pin = commit.metadata.pinned_duroxide_version.as_ref();
    let part = |number: fn(&Version) -> u64| pin.map(|pin| to_db(number(pin)));
    tx.conn
        .prepare_cached(
            "INSERT INTO executions (instance_id, execution_id, status, started_at,
                 duroxide_version, duroxide_version_major, duroxide_version_minor,
                 duroxide_version_patch)
             VALUES (?1, ?2, 'Running', ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (instance_id, execution_id) DO UPDATE
             SET duroxide_version = ?4, duroxide_version_major = ?5,
                 duroxide_version_minor = ?6, duroxide_version_patch = ?7
             WHERE ?4 IS NOT NULL",
        )?
        .execute(params![
            instance,
            to_db(commit.execution_id),
            tx.now,
            pin.map(Version::to_string),
            part(|pin| pin.major),
            part(|pin| pin.minor),
            part(|pin| pin.patch)
        ])?;
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
