//! Instances that an operator's call holds: a short suspension whose token the caller knows.

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    HeldInstance, ProviderErrorKind, ScheduledActivityIdentifier, WorkItem,
};

use super::refusal::Refusal;
use super::store::{Message, Store, TurnLock};
use super::suspension::end_lease;
use super::{history, inspect, orchestrator_queue, turn_lock};

/// Holds an instance that has not ended, in place of any other holder.
pub(crate) fn hold(
    store: &mut Store,
    now: u64,
    instance: &str,
    lock_for: u64,
) -> Result<HeldInstance, Refusal> {
    let status = status(store, instance);
    if let Some(ExecutionStatus::Completed | ExecutionStatus::Failed) = status {
        return Err(Refusal::new(ProviderErrorKind::Conflict, "Instance has ended"));
    }
    let start = match status {
        Some(ExecutionStatus::ContinuedAsNew) => {
            queued(store, instance, |item| matches!(item, WorkItem::ContinueAsNew { .. }))
        }
        Some(_) => None,
        None => queued(store, instance, WorkItem::is_start),
    };
    let execution_id = store.latest_execution(instance);
    let events = history::stored(store, instance, execution_id);
    let last_event_id = events.last().map_or(0, |(id, _)| *id);
    if status.is_none() && start.is_none() && last_event_id == 0 {
        return Err(inspect::not_found(instance));
    }
    let earlier = end_lease(store, now, instance)?;
    let until = now.saturating_add(lock_for).max(earlier.unwrap_or(0));
    let token = store.new_token();
    let instance_id = instance.to_owned();
    let lock = TurnLock {
        instance: instance_id,
        token: token.clone(),
        until,
        running: false,
        suspends: true,
    };
    turn_lock::insert(store, lock);
    Ok(HeldInstance::new(token, execution_id)
        .with_status(status)
        .with_last_event_id(last_event_id)
        .with_start(start)
        .with_activities(activities(store, instance)))
}

/// The status of the current execution; one that cannot be read is running.
fn status(store: &Store, instance: &str) -> Option<ExecutionStatus> {
    store.instance(instance)?;
    let status = store.execution(instance).and_then(|it| ExecutionStatus::parse(&it.status));
    Some(status.unwrap_or(ExecutionStatus::Running))
}

/// The first queued start. A continuation comes before any other.
fn queued(store: &Store, instance: &str, is_wanted: fn(&WorkItem) -> bool) -> Option<WorkItem> {
    let queued = store.messages.values().filter(|it| it.instance == instance && !it.parked);
    let items = queued.filter_map(|message| orchestrator_queue::decode(&message.text));
    let starts: Vec<WorkItem> = items.filter(is_wanted).collect();
    let is_continuation = |item: &&WorkItem| matches!(item, WorkItem::ContinueAsNew { .. });
    starts.iter().find(is_continuation).or(starts.first()).cloned()
}

fn activities(store: &Store, instance: &str) -> Vec<ScheduledActivityIdentifier> {
    let work = store.work.values().filter(|work| work.instance == instance);
    let mut found: Vec<_> = work.map(|work| (work.execution_id, work.activity_id)).collect();
    found.sort_unstable();
    let identify = |(execution_id, activity_id)| ScheduledActivityIdentifier {
        instance: instance.to_owned(),
        execution_id,
        activity_id,
    };
    found.into_iter().map(identify).collect()
}

/// Removes the messages of an instance that has ended, except child starts: the node that drains
/// those notifies their parents.
pub(crate) fn discard_late(store: &mut Store, instance: &str) -> u64 {
    let status = status(store, instance);
    if !matches!(status, Some(ExecutionStatus::Completed | ExecutionStatus::Failed)) {
        return 0;
    }
    let before = store.messages.len();
    let is_child_start = |message: &Message| {
        let item = orchestrator_queue::decode(&message.text);
        matches!(item, Some(WorkItem::StartOrchestration { parent_instance: Some(_), .. }))
    };
    store.messages.retain(|_, it| it.instance != instance || it.parked || is_child_start(it));
    (before - store.messages.len()) as u64
}
