//! Stored form of events.

use std::collections::BTreeSet;

use duroxide_core::model::{Event, EventKind};

use crate::errors::any_failure;
use crate::golden::{EVENTS, assert_golden};

const SCHEDULE_ID: u64 = 3;
const KINDS: usize = 26;

fn event(source_event_id: Option<u64>, kind: EventKind) -> Event {
    Event {
        event_id: 7,
        source_event_id,
        instance_id: "inst".into(),
        execution_id: 2,
        timestamp_ms: 1_700_000_000_000,
        duroxide_version: "0.1.32".into(),
        kind,
    }
}

fn without_source(kind: EventKind) -> Event {
    event(None, kind)
}

fn with_source(kind: EventKind) -> Event {
    event(Some(SCHEDULE_ID), kind)
}

fn scheduled(session_id: Option<&str>, tag: Option<&str>) -> Event {
    without_source(EventKind::ActivityScheduled {
        name: "A".into(),
        input: "i".into(),
        session_id: session_id.map(Into::into),
        tag: tag.map(Into::into),
    })
}

fn lifecycle() -> Vec<(&'static str, Event)> {
    let bare = EventKind::OrchestrationStarted {
        name: "N".into(),
        version: "1.0.0".into(),
        input: "in".into(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    let full = EventKind::OrchestrationStarted {
        name: "N".into(),
        version: "1.0.0".into(),
        input: "in".into(),
        parent_instance: Some("p".into()),
        parent_id: Some(2),
        parent_execution_id: Some(1),
        carry_forward_events: Some(vec![("q".into(), "d".into())]),
        initial_custom_status: Some("cs".into()),
    };
    vec![
        ("OrchestrationStarted bare", without_source(bare)),
        ("OrchestrationStarted full", without_source(full)),
        (
            "OrchestrationCompleted",
            without_source(EventKind::OrchestrationCompleted { output: "out".into() }),
        ),
        (
            "OrchestrationFailed",
            without_source(EventKind::OrchestrationFailed { details: any_failure() }),
        ),
    ]
}

fn activities_and_timers() -> Vec<(&'static str, Event)> {
    let fire_at_ms = 1_700_000_005_000;
    let reason = String::from("dropped_future");
    vec![
        ("ActivityScheduled bare", scheduled(None, None)),
        ("ActivityScheduled session", scheduled(Some("s"), None)),
        ("ActivityScheduled tag", scheduled(None, Some("t"))),
        ("ActivityScheduled full", scheduled(Some("s"), Some("t"))),
        ("ActivityCompleted", with_source(EventKind::ActivityCompleted { result: "r".into() })),
        ("ActivityFailed", with_source(EventKind::ActivityFailed { details: any_failure() })),
        ("ActivityCancelRequested", with_source(EventKind::ActivityCancelRequested { reason })),
        ("TimerCreated", without_source(EventKind::TimerCreated { fire_at_ms })),
        ("TimerFired", with_source(EventKind::TimerFired { fire_at_ms })),
        ("ExternalSubscribed", without_source(EventKind::ExternalSubscribed { name: "E".into() })),
        (
            "ExternalEvent",
            without_source(EventKind::ExternalEvent { name: "E".into(), data: "d".into() }),
        ),
    ]
}

fn other_orchestrations() -> Vec<(&'static str, Event)> {
    let chained = EventKind::OrchestrationChained {
        name: "N".into(),
        instance: "other".into(),
        input: "in".into(),
    };
    let child = EventKind::SubOrchestrationScheduled {
        name: "N".into(),
        instance: "sub::2_7".into(),
        input: "in".into(),
    };
    let dropped = EventKind::SubOrchestrationCancelRequested { reason: "dropped_future".into() };
    let completed = EventKind::SubOrchestrationCompleted { result: "r".into() };
    let failed = EventKind::SubOrchestrationFailed { details: any_failure() };
    let continued = EventKind::OrchestrationContinuedAsNew { input: "next".into() };
    let cancelled = EventKind::OrchestrationCancelRequested { reason: "stop".into() };
    vec![
        ("OrchestrationChained", without_source(chained)),
        ("SubOrchestrationScheduled", without_source(child)),
        ("SubOrchestrationCompleted", with_source(completed)),
        ("SubOrchestrationFailed", with_source(failed)),
        ("SubOrchestrationCancelRequested", with_source(dropped)),
        ("OrchestrationContinuedAsNew", without_source(continued)),
        ("OrchestrationCancelRequested", without_source(cancelled)),
    ]
}

fn queues_status_and_keys() -> Vec<(&'static str, Event)> {
    let wait_cancelled =
        EventKind::ExternalSubscribedCancelled { reason: "orchestration_terminal".into() };
    let delivered = EventKind::QueueEventDelivered { name: "q".into(), data: "d".into() };
    let dequeue_dropped = EventKind::QueueSubscriptionCancelled { reason: "dropped_future".into() };
    let status = Some("half way".into());
    let set = EventKind::KeyValueSet { key: "k".into(), value: "v".into(), last_updated_at_ms: 9 };
    vec![
        ("ExternalSubscribedCancelled", with_source(wait_cancelled)),
        ("QueueSubscribed", without_source(EventKind::QueueSubscribed { name: "q".into() })),
        ("QueueEventDelivered", without_source(delivered)),
        ("QueueSubscriptionCancelled", with_source(dequeue_dropped)),
        ("CustomStatusUpdated set", without_source(EventKind::CustomStatusUpdated { status })),
        (
            "CustomStatusUpdated reset",
            without_source(EventKind::CustomStatusUpdated { status: None }),
        ),
        ("KeyValueSet", without_source(set)),
        ("KeyValueCleared", without_source(EventKind::KeyValueCleared { key: "k".into() })),
        ("KeyValuesCleared", without_source(EventKind::KeyValuesCleared)),
    ]
}

pub(crate) fn cases() -> Vec<(&'static str, Event)> {
    let mut cases = lifecycle();
    cases.extend(activities_and_timers());
    cases.extend(other_orchestrations());
    cases.extend(queues_status_and_keys());
    cases
}

#[test]
fn events_match_their_stored_form() {
    assert_golden(EVENTS, &cases());
}

#[test]
fn every_kind_of_event_is_in_the_table() {
    let tags: BTreeSet<&str> = cases().iter().map(|(_, event)| event.kind.type_tag()).collect();
    assert_eq!(tags.len(), KINDS);
}

#[test]
fn type_tag_is_the_stored_type() {
    for (name, event) in cases() {
        let stored = serde_json::to_value(&event).unwrap();
        assert_eq!(stored["type"], event.kind.type_tag(), "{name}");
    }
}

#[test]
fn a_new_event_carries_the_version_of_this_build_and_the_current_time() {
    let event = Event::new("inst", 1, None, EventKind::KeyValuesCleared);
    assert_eq!(event.event_id(), 0);
    assert_eq!(event.duroxide_version, env!("CARGO_PKG_VERSION"));
    assert!(event.timestamp_ms > 1_700_000_000_000);
}

#[test]
fn completed_failed_and_continued_events_are_terminal() {
    let terminal: Vec<&str> = cases()
        .iter()
        .filter(|(_, event)| event.is_terminal())
        .map(|(_, event)| event.kind.type_tag())
        .collect();
    let expected = ["OrchestrationCompleted", "OrchestrationFailed", "OrchestrationContinuedAsNew"];
    assert_eq!(terminal, expected);
}
