//! Every event and work item that encodes also decodes, whatever its content.

use duroxide_core::model::{
    AppErrorKind, ConfigErrorKind, ErrorDetails, Event, EventKind, PoisonMessageType, WorkItem,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> + Clone {
    any::<String>()
}

fn texts() -> impl Strategy<Value = Option<String>> {
    option::of(text())
}

fn pairs() -> impl Strategy<Value = Vec<(String, String)>> {
    vec((text(), text()), 0..4)
}

fn app_error_kind() -> impl Strategy<Value = AppErrorKind> {
    prop_oneof![
        Just(AppErrorKind::ActivityFailed),
        Just(AppErrorKind::OrchestrationFailed),
        Just(AppErrorKind::Panicked),
        text().prop_map(|reason| AppErrorKind::Cancelled { reason }),
    ]
}

fn poison_message_type() -> impl Strategy<Value = PoisonMessageType> {
    prop_oneof![
        (text(), any::<u64>()).prop_map(|(instance, execution_id)| {
            PoisonMessageType::Orchestration { instance, execution_id }
        }),
        (text(), any::<u64>(), text(), any::<u64>()).prop_map(
            |(instance, execution_id, activity_name, activity_id)| PoisonMessageType::Activity {
                instance,
                execution_id,
                activity_name,
                activity_id,
            }
        ),
        (text(), any::<u64>(), text()).prop_map(|(instance, execution_id, error)| {
            PoisonMessageType::FailedDeserialization { instance, execution_id, error }
        }),
    ]
}

fn details() -> impl Strategy<Value = ErrorDetails> {
    prop_oneof![
        (text(), text(), any::<bool>()).prop_map(|(operation, message, retryable)| {
            ErrorDetails::Infrastructure { operation, message, retryable }
        }),
        (text(), texts()).prop_map(|(resource, message)| {
            let kind = ConfigErrorKind::Nondeterminism;
            ErrorDetails::Configuration { kind, resource, message }
        }),
        (app_error_kind(), text(), any::<bool>()).prop_map(|(kind, message, retryable)| {
            ErrorDetails::Application { kind, message, retryable }
        }),
        (any::<u32>(), any::<u32>(), poison_message_type(), text()).prop_map(
            |(attempt_count, max_attempts, message_type, message)| ErrorDetails::Poison {
                attempt_count,
                max_attempts,
                message_type,
                message,
            }
        ),
    ]
}

fn started() -> impl Strategy<Value = EventKind> {
    let identity = (text(), text(), text());
    let parent = (texts(), option::of(any::<u64>()), option::of(any::<u64>()));
    (identity, parent, option::of(pairs()), texts()).prop_map(
        |(
            (name, version, input),
            (parent_instance, parent_id, parent_execution_id),
            carried,
            s,
        )| {
            EventKind::OrchestrationStarted {
                name,
                version,
                input,
                parent_instance,
                parent_id,
                parent_execution_id,
                carry_forward_events: carried,
                initial_custom_status: s,
            }
        },
    )
}

fn one_text() -> impl Strategy<Value = EventKind> {
    let kinds: &[fn(String) -> EventKind] = &[
        |output| EventKind::OrchestrationCompleted { output },
        |result| EventKind::ActivityCompleted { result },
        |reason| EventKind::ActivityCancelRequested { reason },
        |name| EventKind::ExternalSubscribed { name },
        |result| EventKind::SubOrchestrationCompleted { result },
        |reason| EventKind::SubOrchestrationCancelRequested { reason },
        |input| EventKind::OrchestrationContinuedAsNew { input },
        |reason| EventKind::OrchestrationCancelRequested { reason },
        |reason| EventKind::ExternalSubscribedCancelled { reason },
        |name| EventKind::QueueSubscribed { name },
        |reason| EventKind::QueueSubscriptionCancelled { reason },
        |key| EventKind::KeyValueCleared { key },
    ];
    (proptest::sample::select(kinds), text()).prop_map(|(kind, text)| kind(text))
}

fn failed() -> impl Strategy<Value = EventKind> {
    let kinds: &[fn(ErrorDetails) -> EventKind] = &[
        |details| EventKind::OrchestrationFailed { details },
        |details| EventKind::ActivityFailed { details },
        |details| EventKind::SubOrchestrationFailed { details },
    ];
    (proptest::sample::select(kinds), details()).prop_map(|(kind, details)| kind(details))
}

fn kind() -> impl Strategy<Value = EventKind> {
    prop_oneof![
        started(),
        one_text(),
        failed(),
        (text(), text(), texts(), texts()).prop_map(|(name, input, session_id, tag)| {
            EventKind::ActivityScheduled { name, input, session_id, tag }
        }),
        any::<u64>().prop_map(|fire_at_ms| EventKind::TimerCreated { fire_at_ms }),
        any::<u64>().prop_map(|fire_at_ms| EventKind::TimerFired { fire_at_ms }),
        (text(), text()).prop_map(|(name, data)| EventKind::ExternalEvent { name, data }),
        (text(), text()).prop_map(|(name, data)| EventKind::QueueEventDelivered { name, data }),
        (text(), text(), text()).prop_map(|(name, instance, input)| {
            EventKind::OrchestrationChained { name, instance, input }
        }),
        (text(), text(), text()).prop_map(|(name, instance, input)| {
            EventKind::SubOrchestrationScheduled { name, instance, input }
        }),
        texts().prop_map(|status| EventKind::CustomStatusUpdated { status }),
        (text(), text(), any::<u64>()).prop_map(|(key, value, last_updated_at_ms)| {
            EventKind::KeyValueSet { key, value, last_updated_at_ms }
        }),
        Just(EventKind::KeyValuesCleared),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let ids = (any::<u64>(), option::of(any::<u64>()), any::<u64>(), any::<u64>());
    (ids, text(), text(), kind()).prop_map(|(ids, instance_id, duroxide_version, kind)| {
        let (event_id, source_event_id, execution_id, timestamp_ms) = ids;
        Event {
            event_id,
            source_event_id,
            instance_id,
            execution_id,
            timestamp_ms,
            duroxide_version,
            kind,
        }
    })
}

fn starting_item() -> impl Strategy<Value = WorkItem> {
    let identity = (text(), text(), text(), texts());
    let parent = (texts(), option::of(any::<u64>()), option::of(any::<u64>()));
    (identity, parent, any::<u64>(), option::of(pairs()), texts()).prop_map(
        |(identity, parent, execution_id, carried, initial_custom_status)| {
            let (instance, orchestration, input, version) = identity;
            let (parent_instance, parent_id, parent_execution_id) = parent;
            match carried {
                None => WorkItem::StartOrchestration {
                    instance,
                    orchestration,
                    input,
                    version,
                    parent_instance,
                    parent_id,
                    parent_execution_id,
                    execution_id,
                },
                Some(carry_forward_events) => WorkItem::ContinueAsNew {
                    instance,
                    orchestration,
                    input,
                    version,
                    parent_instance,
                    parent_id,
                    parent_execution_id,
                    carry_forward_events,
                    initial_custom_status,
                },
            }
        },
    )
}

fn activity_item() -> impl Strategy<Value = WorkItem> {
    let ids = (text(), any::<u64>(), any::<u64>());
    prop_oneof![
        (ids.clone(), text(), text(), texts(), texts()).prop_map(
            |((instance, execution_id, id), name, input, session_id, tag)| {
                WorkItem::ActivityExecute {
                    instance,
                    execution_id,
                    id,
                    name,
                    input,
                    session_id,
                    tag,
                }
            }
        ),
        (ids.clone(), text()).prop_map(|((instance, execution_id, id), result)| {
            WorkItem::ActivityCompleted { instance, execution_id, id, result }
        }),
        (ids.clone(), details()).prop_map(|((instance, execution_id, id), details)| {
            WorkItem::ActivityFailed { instance, execution_id, id, details }
        }),
        (ids, any::<u64>()).prop_map(|((instance, execution_id, id), fire_at_ms)| {
            WorkItem::TimerFired { instance, execution_id, id, fire_at_ms }
        }),
    ]
}

fn other_item() -> impl Strategy<Value = WorkItem> {
    let parent = (text(), any::<u64>(), any::<u64>());
    prop_oneof![
        (text(), text(), text()).prop_map(|(instance, name, data)| WorkItem::ExternalRaised {
            instance,
            name,
            data
        }),
        (text(), text(), text()).prop_map(|(instance, name, data)| WorkItem::QueueMessage {
            instance,
            name,
            data
        }),
        (text(), text())
            .prop_map(|(instance, reason)| { WorkItem::CancelInstance { instance, reason } }),
        (parent.clone(), text()).prop_map(|(parent, result)| {
            let (parent_instance, parent_execution_id, parent_id) = parent;
            WorkItem::SubOrchCompleted { parent_instance, parent_execution_id, parent_id, result }
        }),
        (parent, details()).prop_map(|(parent, details)| {
            let (parent_instance, parent_execution_id, parent_id) = parent;
            WorkItem::SubOrchFailed { parent_instance, parent_execution_id, parent_id, details }
        }),
    ]
}

proptest! {
    #[test]
    fn every_event_round_trips(event in event()) {
        let text = serde_json::to_string(&event).unwrap();
        prop_assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }

    #[test]
    fn every_work_item_round_trips(
        item in prop_oneof![starting_item(), activity_item(), other_item()],
    ) {
        let text = serde_json::to_string(&item).unwrap();
        prop_assert_eq!(serde_json::from_str::<WorkItem>(&text).unwrap(), item);
    }

    #[test]
    fn every_string_round_trips_through_the_codec_unless_it_is_quoted(text in any::<String>()) {
        prop_assume!(serde_json::from_str::<String>(&text).is_err());
        let stored = duroxide_core::model::codec::encode(&text).unwrap();
        prop_assert_eq!(duroxide_core::model::codec::decode::<String>(&stored).unwrap(), text);
    }
}
