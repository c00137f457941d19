//! Listings, details and totals.

use std::collections::BTreeMap;

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::kit::{ATTRIBUTE_KEYS_FROM, message_variant};
use duroxide_core::providers::{
    ExecutionInfo, HandlerVersionSpread, InstanceInfo, ParkedMessage, ProviderErrorKind,
    QueueDepths, SystemMetrics, UNPINNED_VERSION,
};
use duroxide_core::{EventKind, SystemStats};

use super::history;
use super::refusal::Refusal;
use super::store::Store;

/// All instances, newest first.
pub(crate) fn instances(store: &Store) -> Vec<String> {
    store.instances().into_iter().rev().map(|(id, _)| id.to_owned()).collect()
}

/// Instances with this status, newest first.
pub(crate) fn instances_by_status(store: &Store, status: &str) -> Vec<String> {
    let mut listed = instances(store);
    listed.retain(|id| store.status(id) == Some(status));
    listed
}

/// Executions of an instance, ascending. An execution starts with its first commit.
pub(crate) fn executions(store: &Store, instance: &str) -> Vec<u64> {
    store.records.get(instance).map_or(Vec::new(), |it| it.executions.keys().copied().collect())
}

/// Direct children, oldest first.
pub(crate) fn children(store: &Store, instance: &str) -> Vec<String> {
    let listed = store.instances().into_iter();
    listed
        .filter(|(_, child)| child.parent.as_deref() == Some(instance))
        .map(|(id, _)| id.to_owned())
        .collect()
}

/// The parent of an instance that exists.
pub(crate) fn parent(store: &Store, instance: &str) -> Result<Option<String>, Refusal> {
    let found = store.instance(instance).ok_or_else(|| not_found(instance))?;
    Ok(found.parent.clone())
}

/// The refusal for an unknown instance.
pub(crate) fn not_found(instance: &str) -> Refusal {
    Refusal::new(ProviderErrorKind::NotFound, format!("Instance {instance} not found"))
}

/// An instance and all its descendants, root first. A parent exists before its children, so there
/// is no cycle.
pub(crate) fn tree(store: &Store, root: &str) -> Vec<String> {
    let mut ids = vec![root.to_owned()];
    let mut visited = 0;
    while let Some(id) = ids.get(visited).cloned() {
        ids.extend(children(store, &id));
        visited += 1;
    }
    ids
}

/// One instance.
pub(crate) fn instance_info(store: &Store, id: &str) -> Result<InstanceInfo, Refusal> {
    let instance = store.instance(id).ok_or_else(|| not_found(id))?;
    let output = store.execution(id).and_then(|execution| execution.output.clone());
    Ok(InstanceInfo {
        instance_id: id.to_owned(),
        orchestration_name: instance.name.clone(),
        orchestration_version: instance.version.clone(),
        current_execution_id: instance.current_execution,
        status: store.status(id).unwrap_or("Unknown").to_owned(),
        output: output.filter(|_| !store.is(id, ExecutionStatus::Running)),
        created_at: instance.created_at,
        updated_at: instance.updated_at,
        parent_instance_id: instance.parent.clone(),
    })
}

/// One execution.
pub(crate) fn execution_info(
    store: &Store,
    id: &str,
    execution_id: u64,
) -> Result<ExecutionInfo, Refusal> {
    let execution = store.records.get(id).and_then(|it| it.executions.get(&execution_id));
    let execution = execution.ok_or_else(|| {
        Refusal::new(
            ProviderErrorKind::NotFound,
            format!("Execution {execution_id} not found for instance {id}"),
        )
    })?;
    Ok(ExecutionInfo {
        execution_id,
        status: execution.status.clone(),
        output: execution.output.clone(),
        started_at: execution.started_at,
        completed_at: execution.completed_at,
        event_count: history::stored(store, id, execution_id).len(),
    })
}

/// Totals over the store.
pub(crate) fn system_metrics(store: &Store) -> SystemMetrics {
    let with = |status| count(store.records.keys().filter(|id| store.is(id, status)).count());
    let records = || store.records.values();
    SystemMetrics {
        total_instances: count(store.instances().len()),
        total_executions: count(records().map(|it| it.executions.len()).sum()),
        running_instances: with(ExecutionStatus::Running),
        completed_instances: with(ExecutionStatus::Completed),
        failed_instances: with(ExecutionStatus::Failed),
        total_events: count(records().flat_map(|it| it.history.values()).map(BTreeMap::len).sum()),
    }
}

/// A count in the type of the contract.
pub(crate) fn count(found: usize) -> u64 {
    u64::try_from(found).unwrap_or(u64::MAX)
}

/// Every row of the queues, including leased, hidden and parked ones. Timers are messages of the
/// orchestrator queue; they have no separate queue.
pub(crate) fn queue_depths(store: &Store) -> QueueDepths {
    QueueDepths {
        orchestrator_queue: store.messages.len(),
        worker_queue: store.work.len(),
        timer_queue: 0,
    }
}

/// Running instances by the version that their current execution is pinned to.
pub(crate) fn version_spread(store: &Store) -> BTreeMap<String, u64> {
    let mut spread = BTreeMap::new();
    let running = store.records.keys().filter(|id| store.is(id, ExecutionStatus::Running));
    for execution in running.filter_map(|id| store.execution(id)) {
        let pin = execution.pin.as_ref().map_or(UNPINNED_VERSION.to_owned(), ToString::to_string);
        *spread.entry(pin).or_insert(0) += 1;
    }
    spread
}

/// Running instances by their orchestration and its version.
pub(crate) fn handler_spread(store: &Store) -> HandlerVersionSpread {
    let mut spread = HandlerVersionSpread::new();
    let running = store.records.keys().filter(|id| store.is(id, ExecutionStatus::Running));
    for instance in running.filter_map(|id| store.instance(id)) {
        let versions = spread.entry(instance.name.clone()).or_default();
        *versions.entry(instance.version.clone()).or_insert(0) += 1;
    }
    spread
}

/// Messages that are parked for an unknown instance, oldest first.
pub(crate) fn parked(store: &Store, limit: usize) -> Vec<ParkedMessage> {
    let parked = store.messages.values().filter(|message| message.parked).take(limit);
    parked
        .map(|message| {
            ParkedMessage::new(
                message.instance.clone(),
                message_variant(&message.text),
                message.enqueued_at,
            )
        })
        .collect()
}

/// Custom status and its version, if the version is newer than what the caller has seen.
pub(crate) fn custom_status(
    store: &Store,
    instance: &str,
    last_seen: u64,
) -> Option<(Option<String>, u64)> {
    let instance = store.instance(instance)?;
    let is_newer = instance.custom_status_version > last_seen;
    is_newer.then(|| (instance.custom_status.clone(), instance.custom_status_version))
}

/// Size of an instance; history figures are those of its current execution.
pub(crate) fn stats(store: &Store, id: &str) -> Result<Option<SystemStats>, Refusal> {
    let Some(instance) = store.instance(id) else { return Ok(None) };
    let events = history::stored(store, id, instance.current_execution);
    let mut values = store.records.get(id).map(|record| record.values.live()).unwrap_or_default();
    values.retain(|key, _| !key.starts_with(ATTRIBUTE_KEYS_FROM));
    let characters = |text: &str| count(text.chars().count());
    Ok(Some(SystemStats {
        history_event_count: count(events.len()),
        history_size_bytes: events.iter().map(|(_, event)| characters(event.text())).sum(),
        queue_pending_count: carried_messages(store, id),
        kv_user_key_count: count(values.len()),
        kv_total_value_bytes: values.values().map(|value| characters(value)).sum(),
    }))
}

/// Queue messages that the execution was started with.
fn carried_messages(store: &Store, id: &str) -> u64 {
    // A start that cannot be decoded names none.
    let start = history::start_event(store, id).ok().flatten();
    let Some(EventKind::OrchestrationStarted { carry_forward_events: Some(carried), .. }) =
        start.map(|event| event.kind)
    else {
        return 0;
    };
    count(carried.len())
}

/// The highest attempt count of the messages of an instance.
pub(crate) fn attempt_count_max(store: &Store, instance: &str) -> u32 {
    let messages = store.messages.values().filter(|message| message.instance == instance);
    messages.map(|message| message.attempt_count).max().unwrap_or(0)
}
