//! Builds the values of the contract from a step, once for both providers.

use std::time::Duration;

use duroxide_core::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, InstanceFilter, RegisteredActivities,
    RegisteredOrchestrations, ScheduledActivity, ScheduledActivityIdentifier, SemverRange,
    TagFilter, TurnCommit, WorkItem,
};
use duroxide_core::{ErrorDetails, Event, EventKind};

use crate::op::{
    Activity, CODE, Code, Fact, Filter, HANDLERS, INSTANCES, KEYS, Message, PINS, SESSIONS,
    Selection, TAGS, Tags, Turn, VALUES,
};

pub(crate) fn code(code: &Code) -> Option<RegisteredOrchestrations> {
    let some = code.as_ref()?.iter().map(|index| CODE[*index]);
    Some(RegisteredOrchestrations::new(some.map(|(name, text)| (name, text.parse().unwrap()))))
}

pub(crate) fn handlers(handlers: &Code) -> Option<RegisteredActivities> {
    Some(RegisteredActivities::new(handlers.as_ref()?.iter().map(|index| HANDLERS[*index])))
}

pub(crate) fn name(id: usize) -> String {
    INSTANCES[id].to_owned()
}

pub(crate) fn message(message: &Message, now: u64) -> WorkItem {
    let (execution_id, text) = (1, || "text".to_owned());
    match *message {
        Message::Start { instance, version } => start(instance, version, None),
        Message::StartChild { instance, parent } => start(instance, true, Some(parent)),
        Message::ContinueAsNew { instance } => WorkItem::ContinueAsNew {
            instance: name(instance),
            orchestration: "Next".to_owned(),
            input: text(),
            version: None,
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: vec![(text(), text())],
            initial_custom_status: None,
        },
        Message::Completed { instance, id } => WorkItem::ActivityCompleted {
            instance: name(instance),
            execution_id,
            id,
            result: text(),
        },
        Message::Failed { instance, id } => WorkItem::ActivityFailed {
            instance: name(instance),
            execution_id,
            id,
            details: trouble(),
        },
        Message::Timer { instance, after } => WorkItem::TimerFired {
            instance: name(instance),
            execution_id,
            id: 3,
            fire_at_ms: now + after,
        },
        Message::Signal(id) => {
            WorkItem::ExternalRaised { instance: name(id), name: text(), data: text() }
        }
        Message::ChildCompleted { parent } => WorkItem::SubOrchCompleted {
            parent_instance: name(parent),
            parent_execution_id: execution_id,
            parent_id: 2,
            result: text(),
        },
        Message::ChildFailed { parent } => WorkItem::SubOrchFailed {
            parent_instance: name(parent),
            parent_execution_id: execution_id,
            parent_id: 2,
            details: trouble(),
        },
        Message::Cancel(id) => WorkItem::CancelInstance { instance: name(id), reason: text() },
        Message::Queued(id) => {
            WorkItem::QueueMessage { instance: name(id), name: text(), data: text() }
        }
        Message::Activity(ref wanted) => activity(wanted),
    }
}

fn start(instance: usize, has_version: bool, parent: Option<usize>) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: name(instance),
        orchestration: "Flow".to_owned(),
        input: "{}".to_owned(),
        version: has_version.then(|| "1.2.0".to_owned()),
        parent_instance: parent.map(name),
        parent_id: parent.map(|_| 2),
        parent_execution_id: parent.map(|_| 1),
        execution_id: 1,
    }
}

pub(crate) fn activity(wanted: &Activity) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: name(wanted.instance),
        execution_id: 1,
        id: wanted.id,
        name: HANDLERS[wanted.handler].to_owned(),
        input: "in".to_owned(),
        session_id: wanted.session.map(|session| SESSIONS[session].to_owned()),
        tag: wanted.tag.map(|tag| TAGS[tag].to_owned()),
    }
}

fn trouble() -> ErrorDetails {
    ErrorDetails::Infrastructure {
        operation: "op".to_owned(),
        message: "no".to_owned(),
        retryable: false,
    }
}

/// Where events go.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Position<'a> {
    pub(crate) instance: &'a str,
    pub(crate) execution_id: u64,
    pub(crate) first_event: u64,
}

pub(crate) fn events(facts: &[Fact], at: Position<'_>) -> Vec<Event> {
    let numbered = (at.first_event..).zip(facts);
    numbered
        .map(|(event_id, fact)| Event {
            event_id,
            source_event_id: None,
            instance_id: at.instance.to_owned(),
            execution_id: at.execution_id,
            timestamp_ms: event_id * 1000,
            duroxide_version: "0.1.30".to_owned(),
            kind: kind(fact, event_id),
        })
        .collect()
}

fn kind(fact: &Fact, event_id: u64) -> EventKind {
    match *fact {
        Fact::Started { carried } => EventKind::OrchestrationStarted {
            name: "Flow".to_owned(),
            version: "1.0.0".to_owned(),
            input: "{}".to_owned(),
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            carry_forward_events: (carried > 0)
                .then(|| vec![("q".to_owned(), "d".to_owned()); carried]),
            initial_custom_status: None,
        },
        Fact::Heard => EventKind::ExternalEvent { name: "ö".to_owned(), data: "d".to_owned() },
        Fact::Status(status) => EventKind::CustomStatusUpdated {
            status: status.map(|status| VALUES[status].to_owned()),
        },
        Fact::Set { key, value } => EventKind::KeyValueSet {
            key: KEYS[key].to_owned(),
            value: VALUES[value].to_owned(),
            last_updated_at_ms: event_id,
        },
        Fact::Clear(key) => EventKind::KeyValueCleared { key: KEYS[key].to_owned() },
        Fact::ClearAll => EventKind::KeyValuesCleared,
        Fact::Completed => EventKind::OrchestrationCompleted { output: "done".to_owned() },
        Fact::Failed => EventKind::OrchestrationFailed { details: trouble() },
        Fact::CancelRequested => {
            EventKind::ActivityCancelRequested { reason: "dropped_future".to_owned() }
        }
    }
}

/// The commit of a turn, without the token of its provider.
pub(crate) fn commit(turn: &Turn, at: Position<'_>, now: u64) -> TurnCommit {
    let at = match turn.next_execution {
        true => Position { execution_id: at.execution_id + 1, first_event: 1, ..at },
        false => at,
    };
    let mut facts = turn.events.clone();
    if at.first_event == 1 {
        facts.insert(0, Fact::Started { carried: 0 });
    }
    let at = Position { first_event: at.first_event.saturating_sub(turn.events_back), ..at };
    TurnCommit::new(String::new(), at.execution_id)
        .with_history_delta(events(&facts, at))
        .with_activities(activities(turn, now))
        .with_messages(at.instance, turn.messages.iter().map(|it| message(it, now)).collect())
        .with_metadata(metadata(turn))
        .with_cancelled_activities(
            turn.cancelled
                .iter()
                .map(|(instance, id)| ScheduledActivityIdentifier {
                    instance: name(*instance),
                    execution_id: 1,
                    activity_id: *id,
                })
                .collect(),
        )
}

/// The activities of a turn; those that its lease names are leased.
fn activities(turn: &Turn, now: u64) -> Vec<ScheduledActivity> {
    let mut activities: Vec<_> =
        turn.work.iter().map(|it| ScheduledActivity::new(message(it, now))).collect();
    if let Some(lease) = &turn.lease {
        for index in &lease.indexes {
            if let Some(activity) = activities.get_mut(*index) {
                activity.lease = Some(Duration::from_millis(lease.length));
            }
        }
    }
    activities
}

fn metadata(turn: &Turn) -> ExecutionMetadata {
    ExecutionMetadata {
        status: turn.status.map(str::to_owned),
        output: turn.status.map(|status| format!("output of {status}")),
        orchestration_name: turn.is_named.then(|| "Flow".to_owned()),
        orchestration_version: turn.is_named.then(|| "1.0.0".to_owned()),
        parent_instance_id: turn.parent.map(name),
        pinned_duroxide_version: turn.pin.map(|pin| PINS[pin].parse().unwrap()),
    }
}

pub(crate) fn filter(filter: &Filter) -> Option<DispatcherCapabilityFilter> {
    let ranges = match filter {
        Filter::Off => return None,
        Filter::Nothing => Vec::new(),
        Filter::Ranges(ranges) => ranges
            .iter()
            .map(|(min, max)| {
                SemverRange::new(PINS[*min].parse().unwrap(), PINS[*max].parse().unwrap())
            })
            .collect(),
    };
    Some(DispatcherCapabilityFilter { supported_duroxide_versions: ranges })
}

pub(crate) fn tags(tags: &Tags) -> TagFilter {
    let names = |tags: &[usize]| tags.iter().map(|tag| TAGS[*tag]).collect::<Vec<_>>();
    match tags {
        Tags::DefaultOnly => TagFilter::DefaultOnly,
        Tags::Only(tags) => TagFilter::tags(names(tags)),
        Tags::DefaultAnd(tags) => TagFilter::default_and(names(tags)),
        Tags::Any => TagFilter::Any,
        Tags::None => TagFilter::None,
    }
}

pub(crate) fn selection(selection: &Selection, now: u64) -> InstanceFilter {
    let names = |ids: &Vec<usize>| ids.iter().map(|id| name(*id)).collect();
    InstanceFilter {
        instance_ids: selection.instances.as_ref().map(names),
        completed_before: selection.before.map(|before| now - before),
        limit: selection.limit,
    }
}
