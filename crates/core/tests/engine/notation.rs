//! The compact notation of cases: messages and events as short lines.
//!
//! An id may name another execution than the running one: `done 2/7 x` completes schedule 2 of
//! execution 7. Data may be empty; `;` separates items and therefore never occurs in one.

use duroxide_core::providers::KvEntry;
use duroxide_core::{AppErrorKind, ConfigErrorKind, ErrorDetails, EventKind, PoisonMessageType};
use duroxide_core::{Event, WorkItem};

pub(crate) const INSTANCE: &str = "i";

/// Splits off the first word.
pub(crate) fn word(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once(' ').map_or((text, ""), |(first, rest)| (first, rest.trim()))
}

fn number(text: &str) -> u64 {
    text.trim_start_matches('@').parse().unwrap_or_else(|_| panic!("not a number: {text:?}"))
}

/// Parses `2` or `2/7`: schedule and execution.
fn target(text: &str, execution_id: u64) -> (u64, u64) {
    match text.split_once('/') {
        Some((id, execution)) => (number(id), number(execution)),
        None => (number(text), execution_id),
    }
}

/// Parses `Name(input)`.
fn call(text: &str) -> (String, String) {
    let (name, rest) = text.split_once('(').unwrap_or_else(|| panic!("not a call: {text:?}"));
    let input = rest.strip_suffix(')').unwrap_or_else(|| panic!("not a call: {text:?}"));
    (name.to_owned(), input.to_owned())
}

/// Parses `a=1@500`.
pub(crate) fn kv_entry(text: &str) -> (String, KvEntry) {
    let (key, rest) = text.split_once('=').expect("key=value@time");
    let (value, time) = rest.split_once('@').expect("key=value@time");
    (key.to_owned(), KvEntry { value: value.to_owned(), last_updated_at_ms: number(time) })
}

pub(crate) fn application(message: &str) -> ErrorDetails {
    ErrorDetails::Application {
        kind: AppErrorKind::ActivityFailed,
        message: message.to_owned(),
        retryable: false,
    }
}

/// Details of a failure; the word names the party at fault.
fn details(fault: &str, message: &str) -> ErrorDetails {
    match fault {
        "failed" => application(message),
        "infra" => ErrorDetails::Infrastructure {
            operation: "op".to_owned(),
            message: message.to_owned(),
            retryable: false,
        },
        "config" => ErrorDetails::Configuration {
            kind: ConfigErrorKind::Nondeterminism,
            resource: String::new(),
            message: Some(message.to_owned()),
        },
        "poison" => ErrorDetails::Poison {
            attempt_count: 11,
            max_attempts: 10,
            message_type: PoisonMessageType::Activity {
                instance: INSTANCE.to_owned(),
                execution_id: 1,
                activity_name: "A".to_owned(),
                activity_id: 2,
            },
            message: message.to_owned(),
        },
        other => panic!("unknown failure {other:?}"),
    }
}

/// Parses a message for the running execution.
pub(crate) fn message(text: &str, running: u64) -> WorkItem {
    let (verb, rest) = word(text);
    let (first, data) = word(rest);
    let (instance, data_owned) = (INSTANCE.to_owned(), data.to_owned());
    match verb {
        "start" => WorkItem::StartOrchestration {
            instance,
            orchestration: "other".to_owned(),
            input: rest.to_owned(),
            version: None,
            parent_instance: None,
            parent_id: None,
            parent_execution_id: None,
            execution_id: 1,
        },
        "signal" => WorkItem::ExternalRaised { instance, name: first.to_owned(), data: data_owned },
        "message" => WorkItem::QueueMessage { instance, name: first.to_owned(), data: data_owned },
        "cancel" => WorkItem::CancelInstance { instance, reason: rest.to_owned() },
        "foreign-wake" => WorkItem::ExternalRaised {
            instance,
            name: duroxide_core::engine::FOREIGN_WAKE_SIGNAL.to_owned(),
            // The execution that was woken: the named one, or the running one.
            data: if rest.is_empty() { running.to_string() } else { rest.to_owned() },
        },
        completion => completion_message(completion, target(first, running), data),
    }
}

fn completion_message(verb: &str, (id, execution_id): (u64, u64), data: &str) -> WorkItem {
    let instance = INSTANCE.to_owned();
    if let Some(failure) = verb.strip_prefix("child-")
        && failure != "done"
    {
        return WorkItem::SubOrchFailed {
            parent_instance: instance,
            parent_execution_id: execution_id,
            parent_id: id,
            details: details(failure, data),
        };
    }
    match verb {
        "done" => {
            WorkItem::ActivityCompleted { instance, execution_id, id, result: data.to_owned() }
        }
        "fired" => {
            let fire_at_ms = if data.is_empty() { 0 } else { number(data) };
            WorkItem::TimerFired { instance, execution_id, id, fire_at_ms }
        }
        "child-done" => WorkItem::SubOrchCompleted {
            parent_instance: instance,
            parent_execution_id: execution_id,
            parent_id: id,
            result: data.to_owned(),
        },
        failure => {
            let details = details(failure, data);
            WorkItem::ActivityFailed { instance, execution_id, id, details }
        }
    }
}

/// Parses a recorded event, `<id> <text>`, of the kinds that hand-written histories use.
pub(crate) fn event(text: &str, execution_id: u64) -> Event {
    let (id, text) = word(text);
    let (verb, rest) = word(text);
    let (first, data) = word(rest);
    let data = data.to_owned();
    let (source, kind) = match verb {
        "activity" => {
            let (name, input) = call(rest);
            (None, EventKind::ActivityScheduled { name, input, session_id: None, tag: None })
        }
        "timer" => (None, EventKind::TimerCreated { fire_at_ms: number(rest) }),
        "set" => {
            let (key, KvEntry { value, last_updated_at_ms }) = kv_entry(rest);
            (None, EventKind::KeyValueSet { key, value, last_updated_at_ms })
        }
        "wait" => (None, EventKind::ExternalSubscribed { name: rest.to_owned() }),
        "dequeue" => (None, EventKind::QueueSubscribed { name: rest.to_owned() }),
        "signal" => (None, EventKind::ExternalEvent { name: first.to_owned(), data }),
        "message" => (None, EventKind::QueueEventDelivered { name: first.to_owned(), data }),
        "completed" => (None, EventKind::OrchestrationCompleted { output: rest.to_owned() }),
        "done" => (Some(number(first)), EventKind::ActivityCompleted { result: data }),
        "fired" => (Some(number(first)), EventKind::TimerFired { fire_at_ms: number(&data) }),
        "cancel-activity" => {
            (Some(number(first)), EventKind::ActivityCancelRequested { reason: data })
        }
        "cancel-child" => {
            (Some(number(first)), EventKind::SubOrchestrationCancelRequested { reason: data })
        }
        "unwait" => (Some(number(first)), EventKind::ExternalSubscribedCancelled { reason: data }),
        "undequeue" => {
            (Some(number(first)), EventKind::QueueSubscriptionCancelled { reason: data })
        }
        "child" => {
            let (child, instance) = rest.split_once(" as ").expect("child N(i) as id");
            let (name, input) = call(child);
            let instance = instance.to_owned();
            (None, EventKind::SubOrchestrationScheduled { name, instance, input })
        }
        other => panic!("histories of cases do not support {other:?}"),
    };
    Event {
        event_id: number(id),
        source_event_id: source,
        instance_id: INSTANCE.to_owned(),
        execution_id,
        timestamp_ms: 0,
        duroxide_version: "0.0.0".to_owned(),
        kind,
    }
}
