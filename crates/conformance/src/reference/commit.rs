//! Committing a turn: history, queues, values and status, all or nothing.
//!
//! The commit first checks everything that can be refused; after that nothing can fail. A backend
//! with transactions may use any order, as long as a refused commit changes nothing and keeps the
//! lease.

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::kit::last_custom_status;
use duroxide_core::providers::{CommittedTurn, ExecutionMetadata, TurnCommit};

use super::orchestrator_queue::NewMessage;
use super::refusal::Refusal;
use super::store::{Execution, Instance, Store, StoredEvent};
use super::worker_queue::NewWork;
use super::{history, orchestrator_queue, turn_lock, worker_queue};

/// A commit whose parts are encoded.
#[derive(Debug)]
pub(crate) struct Encoded<'a> {
    commit: &'a TurnCommit,
    events: Vec<(u64, StoredEvent)>,
    work: Vec<NewWork>,
    messages: Vec<NewMessage>,
}

impl<'a> Encoded<'a> {
    /// Encodes a commit.
    pub(crate) fn encode(commit: &'a TurnCommit) -> Result<Self, Refusal> {
        let work = NewWork::encode_all(commit)?;
        let messages = NewMessage::encode_all(commit.messages())?;
        let mut events = history::encode(&commit.history_delta)?;
        if let Some((_, last)) = events.last_mut() {
            last.commit_id = commit.commit_id;
        }
        Ok(Self { commit, events, work, messages })
    }

    /// Refuses events that are already stored.
    pub(crate) fn check(&self, store: &Store, instance: &str) -> Result<(), Refusal> {
        history::check_new(store, instance, self.commit.execution_id, &self.events)
    }
}

/// Commits a turn under a live lease.
pub(crate) fn commit_turn(
    store: &mut Store,
    now: u64,
    commit: &TurnCommit,
) -> Result<CommittedTurn, Refusal> {
    let encoded = Encoded::encode(commit)?;
    // An expired lease is lost, even if no other caller has leased the instance since.
    let instance = turn_lock::require_live(store, &commit.lock_token, now)?;
    // A duplicate keeps the lease: the caller may commit something else instead.
    encoded.check(store, &instance)?;

    // Only messages of this turn: later arrivals belong to the next one.
    let token = commit.lock_token.as_str();
    store.messages.retain(|_, message| message.turn.as_deref() != Some(token));
    turn_lock::remove(store, token);
    Ok(apply(store, now, &instance, encoded))
}

/// Makes the changes of a turn that was checked.
pub(crate) fn apply(
    store: &mut Store,
    now: u64,
    instance: &str,
    encoded: Encoded<'_>,
) -> CommittedTurn {
    let Encoded { commit, events, work, messages } = encoded;
    let incarnation = write_instance(store, now, instance, commit);
    write_execution(store, now, instance, commit);
    history::append(store, instance, commit.execution_id, events);
    write_values(store, instance, commit);
    let leased = worker_queue::insert_all(store, now, work);
    // After the inserts: an activity that is scheduled and cancelled in one turn never runs. A
    // running one is removed too; its worker learns of it by its lost lease. An unknown one is not
    // an error.
    store.work.retain(|_, work| !commit.cancelled_activities.iter().any(|it| work.is(it)));
    for message in messages {
        let visible_at = message.visible_at(now);
        orchestrator_queue::insert(store, now, message, visible_at);
    }
    let more_waits = !orchestrator_queue::ready(store, instance, now).is_empty();
    CommittedTurn::default()
        .with_incarnation(incarnation)
        .with_leased(leased)
        .with_more_waits(more_waits)
}

/// Creates the instance when a commit names it for the first time, and updates it.
fn write_instance(store: &mut Store, now: u64, instance: &str, commit: &TurnCommit) -> Option<u64> {
    let named = name_and_version(&commit.metadata);
    if store.instance(instance).is_none() {
        let (name, version) = named?;
        create_instance(store, now, instance, commit);
        tracing::debug!(instance, name, version, "an instance was created");
    }
    let stored = store.records.get_mut(instance)?.instance.as_mut()?;
    if let Some((name, version)) = named {
        stored.name = name.to_owned();
        stored.version = version.to_owned();
    }
    // Never back: a late commit of an older execution does not make it current again.
    stored.current_execution = stored.current_execution.max(commit.execution_id);
    stored.updated_at = now;
    stored.suspension = None;
    if let Some(status) = last_custom_status(&commit.history_delta) {
        stored.custom_status = status.map(str::to_owned);
        stored.custom_status_version += 1;
    }
    Some(stored.incarnation)
}

fn name_and_version(metadata: &ExecutionMetadata) -> Option<(&str, &str)> {
    metadata.orchestration_name.as_deref().zip(metadata.orchestration_version.as_deref())
}

fn create_instance(store: &mut Store, now: u64, instance: &str, commit: &TurnCommit) {
    // A deleted parent is omitted: only roots can be deleted, so the child becomes a root.
    let parent = commit.metadata.parent_instance_id.clone();
    let parent = parent.filter(|parent| store.instance(parent).is_some());
    let created = Instance {
        name: String::new(),
        version: String::new(),
        current_execution: commit.execution_id,
        parent,
        created_at: now,
        updated_at: now,
        custom_status: None,
        custom_status_version: 0,
        incarnation: store.next_number(),
        suspension: None,
    };
    store.records.entry(instance.to_owned()).or_default().instance = Some(created);
    orchestrator_queue::unpark(store, instance);
}

/// Stores the metadata of the execution. Fields that the commit does not set stay unchanged.
fn write_execution(store: &mut Store, now: u64, instance: &str, commit: &TurnCommit) {
    let record = store.records.entry(instance.to_owned()).or_default();
    let execution = record.executions.entry(commit.execution_id).or_insert_with(|| Execution {
        status: ExecutionStatus::Running.as_str().to_owned(),
        output: None,
        started_at: now,
        completed_at: None,
        pin: None,
    });
    let metadata = &commit.metadata;
    if let Some(pin) = &metadata.pinned_duroxide_version {
        execution.pin = Some(pin.clone());
    }
    if let Some(status) = &metadata.status {
        execution.status = status.clone();
        execution.output = metadata.output.clone();
        execution.completed_at = Some(now);
    }
}

/// Applies the values that the events set; the completion of an execution makes them permanent.
fn write_values(store: &mut Store, instance: &str, commit: &TurnCommit) {
    let values = &mut store.records.entry(instance.to_owned()).or_default().values;
    values.apply(&commit.history_delta);
    let status = commit.metadata.status.as_deref().and_then(ExecutionStatus::parse);
    if status.is_some_and(ExecutionStatus::is_terminal) {
        values.merge();
    }
}
