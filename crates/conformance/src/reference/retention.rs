//! Deleting instances and pruning executions.

use std::collections::HashSet;

use duroxide_core::EventKind;
use duroxide_core::model::{ExecutionStatus, build_child_instance_id};
use duroxide_core::providers::{
    DeleteInstanceResult, InstanceFilter, ProviderErrorKind, PruneOptions, PruneResult, WorkItem,
};

use super::refusal::Refusal;
use super::store::{Execution, Message, Store};
use super::{inspect, orchestrator_queue};

/// The default limit of instances for a bulk operation.
const BULK_INSTANCES_DEFAULT: u32 = 1000;

/// Deletes a root instance with its tree. A child cannot be deleted alone, not even by force: its
/// parent may wait for it.
///
/// An id that was never an instance can be deleted if messages are parked for it.
pub(crate) fn delete_root(
    store: &mut Store,
    instance: &str,
    force: bool,
) -> Result<DeleteInstanceResult, Refusal> {
    let parent = match inspect::parent(store, instance) {
        Ok(parent) => parent,
        Err(refusal) => return delete_parked(store, instance).ok_or(refusal),
    };
    if parent.is_some() {
        return Err(Refusal::new(
            ProviderErrorKind::NotRoot,
            format!(
                "Cannot delete sub-orchestration {instance} directly. Delete root instance instead."
            ),
        ));
    }
    let tree = inspect::tree(store, instance);
    delete_listed(store, &tree, force)
}

fn delete_parked(store: &mut Store, instance: &str) -> Option<DeleteInstanceResult> {
    let before = store.messages.len();
    store.messages.retain(|_, message| !(message.parked && message.instance == instance));
    let deleted = before - store.messages.len();
    (deleted > 0).then(|| DeleteInstanceResult {
        queue_messages_deleted: inspect::count(deleted),
        ..DeleteInstanceResult::default()
    })
}

/// Deletes exactly these instances, all or none. Ids without an instance are left alone: a start
/// that waits there belongs to a new instance.
pub(crate) fn delete_listed(
    store: &mut Store,
    ids: &[String],
    force: bool,
) -> Result<DeleteInstanceResult, Refusal> {
    for id in ids {
        if !force && store.is(id, ExecutionStatus::Running) {
            return Err(Refusal::new(
                ProviderErrorKind::StillRunning,
                format!(
                    "Instance {id} is still running. Cancel it first, or use force to delete it."
                ),
            ));
        }
        // The tree may have grown since the caller read it; a child must not lose its parent.
        if let Some(child) = inspect::children(store, id).iter().find(|it| !ids.contains(it)) {
            return Err(Refusal::new(
                ProviderErrorKind::Conflict,
                format!(
                    "Instance {id} has child {child} that was created after tree traversal. \
                 Re-fetch the tree and retry."
                ),
            ));
        }
    }
    let mut result = DeleteInstanceResult::default();
    for id in ids {
        if store.instance(id).is_some() {
            delete_one(store, id, &mut result);
        }
    }
    Ok(result)
}

/// Deletes all data of an id except sessions, which belong to no instance.
fn delete_one(store: &mut Store, id: &str, result: &mut DeleteInstanceResult) {
    let rows = store.messages.len() + store.work.len();
    delete_pending_children(store, id);
    store.messages.retain(|_, message| message.instance != id);
    store.work.retain(|_, work| work.instance != id);
    store.message_ids.retain(|(instance, _), _| instance != id);
    let rows_left = store.messages.len() + store.work.len();
    result.queue_messages_deleted += inspect::count(rows - rows_left);
    // Without its lease a turn in progress cannot recreate the instance.
    store.turn_locks.retain(|lock| lock.instance != id);
    let Some(record) = store.records.remove(id) else { return };
    let events = record.history.values().map(|events| events.len()).sum();
    result.events_deleted += inspect::count(events);
    result.executions_deleted += inspect::count(record.executions.len());
    result.instances_deleted += u64::from(record.instance.is_some());
}

/// Deletes starts of children that have not run. As orphans they would send their results to an
/// instance that is started later under the id of their parent.
fn delete_pending_children(store: &mut Store, parent: &str) {
    let Some(record) = store.records.get(parent) else { return };
    let events = record.history.values().flat_map(|events| events.values());
    // An event that cannot be read names no child.
    let named = events.filter_map(|event| {
        let event = event.decode().ok()?;
        let EventKind::SubOrchestrationScheduled { instance, .. } = &event.kind else {
            return None;
        };
        Some(build_child_instance_id(parent, instance))
    });
    let children: HashSet<String> = named.filter(|child| store.instance(child).is_none()).collect();
    let is_start = |message: &Message| {
        matches!(
            orchestrator_queue::decode(&message.text),
            Some(WorkItem::StartOrchestration { parent_instance: Some(by), .. }) if by == parent
        )
    };
    let starts: Vec<(u64, String)> = store
        .messages
        .iter()
        .filter(|(_, message)| children.contains(&message.instance) && is_start(message))
        .map(|(number, message)| (*number, message.instance.clone()))
        .collect();
    for (number, child) in starts {
        store.messages.remove(&number);
        // Without its lease a first turn in progress cannot create the child.
        store.turn_locks.retain(|lock| lock.instance != child);
        let others = store.messages.values_mut().filter(|message| message.instance == child);
        others.for_each(|message| message.turn = None);
    }
}

/// Finished roots that a filter selects, oldest first.
pub(crate) fn deletable_roots(store: &Store, filter: &InstanceFilter) -> Vec<String> {
    select(store, filter, |id| {
        let is_terminal =
            |status| ExecutionStatus::parse(status).is_some_and(ExecutionStatus::is_terminal);
        store.status(id).is_some_and(is_terminal)
            && store.instance(id).is_some_and(|it| it.parent.is_none())
    })
}

/// Instances that a filter selects, whatever their status, including children.
pub(crate) fn prunable_instances(store: &Store, filter: &InstanceFilter) -> Vec<String> {
    select(store, filter, |_| true)
}

/// All conditions of a filter must hold. An empty list of ids selects nothing, and an instance that
/// has not finished is not older than any time.
fn select(store: &Store, filter: &InstanceFilter, is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let mut ids: Vec<String> = match &filter.instance_ids {
        Some(ids) => ids.clone(),
        None => store.instances().into_iter().map(|(id, _)| id.to_owned()).collect(),
    };
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    ids.retain(|id| {
        let Some(execution) = store.execution(id) else { return false };
        let runs = store.is(id, ExecutionStatus::Running);
        let is_old = filter.completed_before.is_none()
            || !runs && ended_before(execution, filter.completed_before);
        is_old && is_wanted(id)
    });
    let limit = filter.limit.unwrap_or(BULK_INSTANCES_DEFAULT);
    ids.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    ids
}

fn ended_before(execution: &Execution, limit: Option<u64>) -> bool {
    let Some(limit) = limit else { return true };
    execution.completed_at.is_some_and(|at| at < limit)
}

/// Deletes a selected root, unless a descendant still runs.
pub(crate) fn delete_if_finished(
    store: &mut Store,
    root: &str,
) -> Result<DeleteInstanceResult, Refusal> {
    let tree = inspect::tree(store, root);
    if tree.iter().any(|id| store.is(id, ExecutionStatus::Running)) {
        return Ok(DeleteInstanceResult::default());
    }
    delete_listed(store, &tree, false)
}

/// Deletes old executions with their events. The current execution and running ones always stay;
/// values belong to the instance and stay.
pub(crate) fn prune(
    store: &mut Store,
    id: &str,
    options: &PruneOptions,
) -> Result<PruneResult, Refusal> {
    let not_found = || inspect::not_found(id);
    let current = store.instance(id).ok_or_else(not_found)?.current_execution;
    let record = store.records.get_mut(id).ok_or_else(not_found)?;
    let keep = usize::try_from(options.keep_last.unwrap_or(0)).unwrap_or(usize::MAX);
    let kept: Vec<u64> = record.executions.keys().rev().take(keep).copied().collect();
    let executions = record.executions.iter();
    let doomed: Vec<u64> = executions
        .filter(|(number, execution)| {
            **number != current
                && !kept.contains(number)
                && !execution.is(ExecutionStatus::Running)
                && ended_before(execution, options.completed_before)
        })
        .map(|(number, _)| *number)
        .collect();
    let mut result = PruneResult { instances_processed: 1, ..PruneResult::default() };
    for number in doomed {
        record.executions.remove(&number);
        let events = record.history.remove(&number).unwrap_or_default();
        result.executions_deleted += 1;
        result.events_deleted += inspect::count(events.len());
    }
    Ok(result)
}
