//! Instances that are carried between stores.

use duroxide_core::providers::kit::{activity_name, message_variant};
use duroxide_core::providers::{
    CopiedActivity, CopiedEvent, CopiedExecution, CopiedMessage, CopiedMessageId, CopiedProgress,
    CopySection, InstanceCopy, InstanceCopyQuery, InstanceHead, ProviderErrorKind,
    SuspensionOrigin, suspension_retry_ms,
};

use super::history;
use super::orchestrator_queue::unpark;
use super::refusal::Refusal;
use super::store::{Execution, Instance, Message, Progress, Store, StoredEvent, Work};
use super::suspension;

/// Rows of one part: few, so that the suite reads several parts.
const PART_MAX: usize = 3;

/// One part of a section.
pub(crate) fn part(store: &Store, query: &InstanceCopyQuery) -> Result<InstanceCopy, Refusal> {
    let instance = query.instance.as_str();
    let mut copy = InstanceCopy::new(instance);
    let record = store.records.get(instance);
    match &query.section {
        CopySection::Head => copy.head = store.instance(instance).map(head),
        CopySection::Executions { after } => {
            let executions = record.into_iter().flat_map(|record| &record.executions);
            let behind = executions.filter(|(id, _)| *id > after).take(PART_MAX);
            let copied = |(id, it): (&u64, &Execution)| execution(store, instance, *id, it);
            copy.executions = behind.map(copied).collect();
        }
        CopySection::Events { execution_id, after } => {
            let events = history::stored(store, instance, *execution_id).into_iter();
            let behind = events.filter(|(id, _)| id > after).take(PART_MAX);
            let copied = |(id, it): (u64, &StoredEvent)| {
                CopiedEvent::new(*execution_id, id, it.text().to_owned())
            };
            copy.events = behind.map(copied).collect();
        }
        CopySection::Keys => {
            copy.keys = record.map(|record| record.values.copied()).unwrap_or_default();
        }
        CopySection::MessageIds { after } => {
            let of_instance = store.message_ids.iter().filter(|((it, _), _)| it == instance);
            let behind = of_instance.filter(|((_, id), _)| after.as_ref().is_none_or(|it| id > it));
            let copied = behind.take(PART_MAX).map(|((_, id), expires_at)| {
                let mut copied = CopiedMessageId::default();
                (copied.id, copied.expires_at_ms) = (id.clone(), *expires_at);
                copied
            });
            copy.message_ids = copied.collect();
        }
        CopySection::Activities { after } => {
            let behind =
                store.work.iter().filter(|(id, it)| *id > after && it.instance == instance);
            copy.activities = behind.take(PART_MAX).map(|(id, it)| activity(*id, it)).collect();
        }
        CopySection::Messages { after } => {
            let all = store.messages.iter();
            let behind = all.filter(|(id, it)| *id > after && it.instance == instance);
            copy.messages = behind.take(PART_MAX).map(|(id, it)| message(*id, it)).collect();
        }
        _unknown => return Err(Refusal::new(ProviderErrorKind::Other, "unknown section")),
    }
    Ok(copy)
}

fn head(instance: &Instance) -> InstanceHead {
    let mut head = InstanceHead::default();
    head.orchestration_name.clone_from(&instance.name);
    head.orchestration_version.clone_from(&instance.version);
    head.current_execution_id = instance.current_execution;
    head.created_at_ms = instance.created_at;
    head.updated_at_ms = instance.updated_at;
    head.parent_instance_id.clone_from(&instance.parent);
    head.custom_status.clone_from(&instance.custom_status);
    head.custom_status_version = instance.custom_status_version;
    head.suspension = instance.suspension.clone().map(Into::into);
    head
}

fn execution(store: &Store, instance: &str, id: u64, stored: &Execution) -> CopiedExecution {
    let mut copied = CopiedExecution::default();
    copied.execution_id = id;
    copied.events = history::stored(store, instance, id).len() as u64;
    copied.status.clone_from(&stored.status);
    copied.output.clone_from(&stored.output);
    copied.started_at_ms = Some(stored.started_at);
    copied.completed_at_ms = stored.completed_at;
    copied.pin = stored.pin.as_ref().map(ToString::to_string);
    copied
}

fn activity(id: u64, work: &Work) -> CopiedActivity {
    let mut copied = CopiedActivity::default();
    copied.place = id;
    copied.item.clone_from(&work.text);
    (copied.execution_id, copied.activity_id) = (work.execution_id, work.activity_id);
    (copied.queued_at_ms, copied.visible_at_ms) = (work.enqueued_at, work.visible_at);
    (copied.attempts, copied.vouched) = (work.attempt_count, work.vouched);
    copied.session_id.clone_from(&work.session);
    copied.tag.clone_from(&work.tag);
    copied.start_by_ms = work.start_by.filter(|_| !work.starting);
    copied.progress = work.progress.as_ref().map(|it| {
        let mut progress = CopiedProgress::default();
        progress.text.clone_from(&it.text);
        (progress.at_ms, progress.attempt) = (it.updated_at, it.attempt);
        progress
    });
    copied
}

fn message(id: u64, stored: &Message) -> CopiedMessage {
    let mut copied = CopiedMessage::default();
    copied.place = id;
    copied.item.clone_from(&stored.text);
    (copied.visible_at_ms, copied.queued_at_ms) = (stored.visible_at, stored.enqueued_at);
    (copied.attempts, copied.excused) = (stored.attempt_count, stored.excused);
    copied.is_parked = stored.parked;
    copied
}

/// Stores an instance that is not known.
pub(crate) fn import(store: &mut Store, now: u64, copy: &InstanceCopy) -> Result<(), Refusal> {
    let instance = copy.instance.as_str();
    let starts = copy.messages.iter().any(|message| is_start(&message.item));
    let mut queued = store.messages.values().filter(|it| it.instance == instance);
    let is_taken = queued.any(|it| is_start(&it.text) || (copy.head.is_none() && !starts));
    if is_taken || store.records.contains_key(instance) {
        return Err(Refusal::new(ProviderErrorKind::Conflict, "Instance exists"));
    }
    check_events(copy)?;
    // Nothing can fail from here on.
    if copy.head.is_some() || starts {
        unpark(store, instance);
    }
    if let Some(head) = &copy.head {
        insert_instance(store, now, copy, head);
    }
    for id in &copy.message_ids {
        store.message_ids.insert((instance.to_owned(), id.id.clone()), id.expires_at_ms);
    }
    for activity in &copy.activities {
        insert_activity(store, now, instance, activity);
    }
    for message in &copy.messages {
        let number = store.next_number();
        let stored = Message {
            instance: instance.to_owned(),
            text: message.item.clone(),
            visible_at: message.visible_at_ms,
            enqueued_at: message.queued_at_ms.min(now),
            attempt_count: message.attempts,
            excused: message.excused,
            turn: None,
            parked: message.is_parked,
        };
        store.messages.insert(number, stored);
    }
    Ok(())
}

fn is_start(text: &str) -> bool {
    matches!(message_variant(text), "StartOrchestration" | "ContinueAsNew")
}

fn check_events(copy: &InstanceCopy) -> Result<(), Refusal> {
    let mut places: Vec<_> = copy.events.iter().map(|it| (it.execution_id, it.event_id)).collect();
    places.sort_unstable();
    match places.windows(2).any(|pair| pair.first() == pair.last()) {
        true => Err(Refusal::new(ProviderErrorKind::Other, "an event is there twice")),
        false => Ok(()),
    }
}

fn insert_instance(store: &mut Store, now: u64, copy: &InstanceCopy, head: &InstanceHead) {
    let parent = head.parent_instance_id.clone().filter(|it| store.instance(it).is_some());
    let incarnation = store.next_number();
    let record = store.records.entry(copy.instance.clone()).or_default();
    record.instance = Some(Instance {
        name: head.orchestration_name.clone(),
        version: head.orchestration_version.clone(),
        current_execution: head.current_execution_id,
        parent,
        created_at: head.created_at_ms,
        updated_at: head.updated_at_ms,
        custom_status: head.custom_status.clone(),
        custom_status_version: head.custom_status_version,
        incarnation,
        suspension: None,
    });
    for execution in &copy.executions {
        let stored = Execution {
            status: execution.status.clone(),
            output: execution.output.clone(),
            started_at: execution.started_at_ms.unwrap_or(0),
            completed_at: execution.completed_at_ms,
            pin: execution.pin.as_deref().and_then(|pin| pin.parse().ok()),
        };
        record.executions.insert(execution.execution_id, stored);
    }
    for event in &copy.events {
        let stored = StoredEvent::new(event.kind().into(), event.text.clone());
        record.history.entry(event.execution_id).or_default().insert(event.event_id, stored);
    }
    record.values.import(&copy.keys);
    if let Some(suspended) = &head.suspension {
        let until = match suspended.origin() {
            SuspensionOrigin::Replay => suspension_retry_ms(suspended.since_ms, now),
            SuspensionOrigin::Operator | _ => u64::MAX,
        };
        suspension::insert(store, &copy.instance, suspended.clone().into(), until);
    }
}

fn insert_activity(store: &mut Store, now: u64, instance: &str, activity: &CopiedActivity) {
    let number = store.next_number();
    let work = Work {
        instance: instance.to_owned(),
        execution_id: activity.execution_id,
        activity_id: activity.activity_id,
        session: activity.session_id.clone(),
        tag: activity.tag.clone(),
        name: activity_name(&activity.item),
        text: activity.item.clone(),
        visible_at: activity.visible_at_ms,
        attempt_count: activity.attempts,
        vouched: activity.vouched,
        lock: None,
        enqueued_at: activity.queued_at_ms.min(now),
        start_by: activity.start_by_ms,
        starting: false,
        progress: activity.progress.as_ref().map(|it| Progress {
            text: it.text.clone(),
            attempt: it.attempt,
            updated_at: it.at_ms,
        }),
    };
    store.work.insert(number, work);
}
