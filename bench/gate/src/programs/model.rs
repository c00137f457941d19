//! Events and messages of the programs.

use duroxide_core::{Event, EventKind, WorkItem};

pub(super) const INSTANCE: &str = "order-2024-000001";
pub(super) const NOW_MS: u64 = 1_700_000_000_000;
pub(super) const VERSION: &str = "1.0.0";

pub(super) fn started(instance: &str) -> Event {
    let kind = EventKind::OrchestrationStarted {
        name: "Order".to_owned(),
        version: VERSION.to_owned(),
        input: "{\"order\":1}".to_owned(),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        carry_forward_events: None,
        initial_custom_status: None,
    };
    Event::with_event_id(1, instance, 1, None, kind)
}

pub(super) fn start(instance: &str) -> WorkItem {
    WorkItem::StartOrchestration {
        instance: instance.to_owned(),
        orchestration: "Order".to_owned(),
        input: "{\"order\":1}".to_owned(),
        version: Some(VERSION.to_owned()),
        parent_instance: None,
        parent_id: None,
        parent_execution_id: None,
        execution_id: 1,
    }
}

pub(super) fn scheduled(instance: &str, id: u64) -> Event {
    let kind = EventKind::ActivityScheduled {
        name: "Work".to_owned(),
        input: "{\"item\":1}".to_owned(),
        session_id: None,
        tag: None,
    };
    Event::with_event_id(id, instance, 1, None, kind)
}

pub(super) fn activity(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityExecute {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        name: "Work".to_owned(),
        input: "{\"item\":1}".to_owned(),
        session_id: None,
        tag: None,
    }
}

pub(super) fn completed(instance: &str, id: u64) -> WorkItem {
    WorkItem::ActivityCompleted {
        instance: instance.to_owned(),
        execution_id: 1,
        id,
        result: "{\"done\":true}".to_owned(),
    }
}
