//! Instances that an operator's call holds: a short suspension whose token the caller knows.

use duroxide_core::model::ExecutionStatus;
use duroxide_core::providers::{
    HELD_CANCELLATIONS_MAX, HeldInstance, ProviderErrorKind, ScheduledActivityIdentifier, WorkItem,
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
        .with_activities(activities(store, instance))
        .with_cancellations(reasons(store, now, instance)))
}

fn reasons(store: &Store, now: u64, instance: &str) -> Vec<String> {
    let texts = cancellations(store, now, instance).map(|message| &message.text);
    let items = texts.filter_map(|text| orchestrator_queue::decode(text));
    let reasons = items.filter_map(|item| {
        let WorkItem::CancelInstance { reason, .. } = item else { return None };
        Some(reason)
    });
    reasons.take(HELD_CANCELLATIONS_MAX as usize).collect()
}

/// The visible cancellations that wait for an instance. One that came before the start of an
/// instance that is not stored was meant for another.
pub(crate) fn cancellations<'a>(
    store: &'a Store,
    now: u64,
    instance: &'a str,
) -> impl Iterator<Item = &'a Message> {
    let queued = move || {
        let messages = store.messages.iter().filter(move |(_, it)| it.instance == instance);
        messages
            .filter_map(|(number, it)| Some((*number, it, orchestrator_queue::decode(&it.text)?)))
    };
    let starts = || queued().filter(|(_, it, item)| !it.parked && item.is_start());
    let start = starts()
        .min_by_key(|(number, _, item)| (!matches!(item, WorkItem::ContinueAsNew { .. }), *number));
    let behind = match (store.instance(instance), start) {
        (Some(_), _) => Some(0),
        (None, Some((number, ..))) => Some(number),
        (None, None) => None,
    };
    let counts = move |number: u64, message: &Message| {
        !message.parked && message.visible_at <= now && behind.is_some_and(|it| number > it)
    };
    queued().filter_map(move |(number, message, item)| {
        let cancels = matches!(item, WorkItem::CancelInstance { .. });
        (cancels && counts(number, message)).then_some(message)
    })
}

/// The status of the current execution; one that cannot be read is running.
pub(crate) fn status(store: &Store, instance: &str) -> Option<ExecutionStatus> {
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
