//! Events, actions, failures, retry policies, races: exactly these fields and variants.

use std::time::Duration;

use duroxide::{
    Action, AppErrorKind, BackoffStrategy, CompletionResult, ConfigErrorKind, Either2, Either3,
    ErrorDetails, Event, EventKind, LogLevel, PoisonMessageType, RetryPolicy, ScheduleKind,
    SystemStats,
};

use crate::is;

type Pairs = Vec<(String, String)>;

fn event(event: Event) {
    let Event {
        event_id,
        source_event_id,
        instance_id,
        execution_id,
        timestamp_ms,
        duroxide_version,
        kind,
    } = event;
    is::<(u64, Option<u64>, String)>((event_id, source_event_id, instance_id));
    is::<(u64, u64, String)>((execution_id, timestamp_ms, duroxide_version));
    is::<Event>(Event::with_event_id(1, "instance", 1, Some(2), kind.clone()));
    let event = Event::new(String::from("instance"), 1, None, kind);
    is::<u64>(event.event_id());
    is::<Option<u64>>(event.source_event_id());
    is::<bool>(event.is_terminal());
}

// No wildcard: a new variant would break programs that match without one.
fn event_kind(kind: EventKind) {
    match kind {
        EventKind::OrchestrationStarted {
            name,
            version,
            input,
            parent_instance,
            parent_id,
            parent_execution_id,
            carry_forward_events,
            initial_custom_status,
        } => {
            is::<[String; 3]>([name, version, input]);
            is::<(Option<String>, Option<u64>)>((parent_instance, parent_id));
            is::<(Option<u64>, Option<Pairs>)>((parent_execution_id, carry_forward_events));
            is::<Option<String>>(initial_custom_status);
        }
        EventKind::ActivityScheduled { name, input, session_id, tag } => {
            is::<([String; 2], [Option<String>; 2])>(([name, input], [session_id, tag]));
        }
        EventKind::OrchestrationFailed { details }
        | EventKind::ActivityFailed { details }
        | EventKind::SubOrchestrationFailed { details } => is::<ErrorDetails>(details),
        EventKind::TimerCreated { fire_at_ms } | EventKind::TimerFired { fire_at_ms } => {
            is::<u64>(fire_at_ms);
        }
        EventKind::OrchestrationChained { name, instance, input }
        | EventKind::SubOrchestrationScheduled { name, instance, input } => {
            is::<[String; 3]>([name, instance, input]);
        }
        EventKind::ExternalEvent { name, data } | EventKind::QueueEventDelivered { name, data } => {
            is::<[String; 2]>([name, data])
        }
        EventKind::ExternalSubscribed { name } | EventKind::QueueSubscribed { name } => {
            is::<String>(name);
        }
        EventKind::OrchestrationCompleted { output: text }
        | EventKind::ActivityCompleted { result: text }
        | EventKind::SubOrchestrationCompleted { result: text }
        | EventKind::OrchestrationContinuedAsNew { input: text }
        | EventKind::ActivityCancelRequested { reason: text }
        | EventKind::SubOrchestrationCancelRequested { reason: text }
        | EventKind::OrchestrationCancelRequested { reason: text }
        | EventKind::ExternalSubscribedCancelled { reason: text }
        | EventKind::QueueSubscriptionCancelled { reason: text }
        | EventKind::KeyValueCleared { key: text } => is::<String>(text),
        EventKind::CustomStatusUpdated { status } => is::<Option<String>>(status),
        EventKind::KeyValueSet { key, value, last_updated_at_ms } => {
            is::<([String; 2], u64)>(([key, value], last_updated_at_ms));
        }
        EventKind::KeyValuesCleared => {}
        #[cfg(feature = "replay-version-test")]
        #[allow(unreachable_patterns, reason = "the feature may add kinds")]
        _ => {}
    }
}

fn action(action: Action) {
    match action {
        Action::CallActivity { scheduling_event_id, name, input, session_id, tag } => {
            is::<(u64, [String; 2])>((scheduling_event_id, [name, input]));
            is::<[Option<String>; 2]>([session_id, tag]);
        }
        Action::CreateTimer { scheduling_event_id, fire_at_ms } => {
            is::<[u64; 2]>([scheduling_event_id, fire_at_ms]);
        }
        Action::WaitExternal { scheduling_event_id, name }
        | Action::DequeueEvent { scheduling_event_id, name } => {
            is::<(u64, String)>((scheduling_event_id, name));
        }
        Action::StartOrchestrationDetached {
            scheduling_event_id,
            name,
            version,
            instance,
            input,
        }
        | Action::StartSubOrchestration { scheduling_event_id, name, version, instance, input } => {
            is::<(u64, Option<String>)>((scheduling_event_id, version));
            is::<[String; 3]>([name, instance, input]);
        }
        Action::ContinueAsNew { input, version } => {
            is::<(String, Option<String>)>((input, version))
        }
        Action::UpdateCustomStatus { status } => is::<Option<String>>(status),
        Action::SetKeyValue { key, value, last_updated_at_ms } => {
            is::<([String; 2], u64)>(([key, value], last_updated_at_ms));
        }
        Action::ClearKeyValue { key } => is::<String>(key),
        Action::ClearKeyValues => {}
        #[cfg(feature = "replay-version-test")]
        #[allow(unreachable_patterns, reason = "the feature may add actions")]
        _ => {}
    }
}

fn completion_result(result: CompletionResult) {
    match result {
        CompletionResult::ActivityOk(text)
        | CompletionResult::ActivityErr(text)
        | CompletionResult::SubOrchOk(text)
        | CompletionResult::SubOrchErr(text)
        | CompletionResult::ExternalData(text) => is::<String>(text),
        CompletionResult::TimerFired => {}
    }
}

fn schedule_kind(kind: ScheduleKind) {
    match kind {
        ScheduleKind::Activity { name } => is::<String>(name),
        ScheduleKind::Timer => {}
        ScheduleKind::ExternalWait { event_name } | ScheduleKind::QueueDequeue { event_name } => {
            is::<String>(event_name);
        }
        ScheduleKind::SubOrchestration { token } => is::<u64>(token),
    }
}

fn error_details(details: ErrorDetails) {
    is::<&'static str>(details.category());
    is::<bool>(details.is_retryable());
    is::<String>(details.display_message());
    match details {
        ErrorDetails::Infrastructure { operation, message, retryable } => {
            is::<([String; 2], bool)>(([operation, message], retryable));
        }
        ErrorDetails::Configuration {
            kind: ConfigErrorKind::Nondeterminism,
            resource,
            message,
        } => is::<(String, Option<String>)>((resource, message)),
        ErrorDetails::Application { kind, message, retryable } => {
            is::<(String, bool)>((message, retryable));
            match kind {
                AppErrorKind::ActivityFailed
                | AppErrorKind::OrchestrationFailed
                | AppErrorKind::Panicked => {}
                AppErrorKind::Cancelled { reason } => is::<String>(reason),
            }
        }
        ErrorDetails::Poison { attempt_count, max_attempts, message_type, message } => {
            is::<([u32; 2], String)>(([attempt_count, max_attempts], message));
            poison(message_type);
        }
    }
}

fn poison(message_type: PoisonMessageType) {
    match message_type {
        PoisonMessageType::Orchestration { instance, execution_id } => {
            is::<(String, u64)>((instance, execution_id));
        }
        PoisonMessageType::Activity { instance, execution_id, activity_name, activity_id } => {
            is::<([String; 2], [u64; 2])>(([instance, activity_name], [execution_id, activity_id]));
        }
        PoisonMessageType::FailedDeserialization { instance, execution_id, error } => {
            is::<([String; 2], u64)>(([instance, error], execution_id));
        }
    }
}

fn retry(level: LogLevel) {
    let backoff = BackoffStrategy::default();
    is::<Duration>(backoff.delay_for_attempt(1_u32));
    match backoff {
        BackoffStrategy::None => {}
        BackoffStrategy::Fixed { delay } => is::<Duration>(delay),
        BackoffStrategy::Linear { base, max } => is::<[Duration; 2]>([base, max]),
        BackoffStrategy::Exponential { base, multiplier, max } => {
            is::<([Duration; 2], f64)>(([base, max], multiplier));
        }
    }
    let policy = RetryPolicy::new(3_u32)
        .with_timeout(Duration::ZERO)
        .with_total_timeout(Duration::ZERO)
        .with_backoff(BackoffStrategy::None);
    is::<Duration>(policy.delay_for_attempt(1_u32));
    let RetryPolicy { max_attempts, backoff, timeout } = policy;
    let policy = RetryPolicy { max_attempts, backoff, timeout };
    is::<(u32, BackoffStrategy, Option<Duration>)>((
        policy.max_attempts,
        policy.backoff,
        policy.timeout,
    ));
    match level {
        LogLevel::Info | LogLevel::Warn | LogLevel::Error => {}
    }
}

fn races(two: Either2<u8, String>, three: Either3<u8, String, bool>) {
    is::<bool>(two.is_first());
    is::<bool>(two.is_second());
    is::<usize>(two.index());
    is::<usize>(three.index());
    match two {
        Either2::First(value) => is::<u8>(value),
        Either2::Second(value) => is::<String>(value),
    }
    match three {
        Either3::First(value) => is::<u8>(value),
        Either3::Second(value) => is::<String>(value),
        Either3::Third(value) => is::<bool>(value),
    }
    is::<(usize, u8)>(Either2::<u8, u8>::First(1).into_tuple());
    is::<(usize, u8)>(Either3::<u8, u8, u8>::Third(1).into_tuple());
}

fn system_stats(stats: SystemStats) -> SystemStats {
    let SystemStats {
        history_event_count,
        history_size_bytes,
        queue_pending_count,
        kv_user_key_count,
        kv_total_value_bytes,
    } = stats;
    is::<[u64; 2]>([history_event_count, history_size_bytes]);
    SystemStats {
        history_event_count,
        history_size_bytes,
        queue_pending_count,
        kv_user_key_count,
        kv_total_value_bytes,
    }
}

#[test]
fn signatures_compile() {
    is::<fn(Event)>(event);
    is::<fn(EventKind)>(event_kind);
    is::<fn(Action)>(action);
    is::<fn(CompletionResult)>(completion_result);
    is::<fn(ScheduleKind)>(schedule_kind);
    is::<fn(ErrorDetails)>(error_details);
    is::<fn(LogLevel)>(retry);
    is::<fn(Either2<u8, String>, Either3<u8, String, bool>)>(races);
    is::<fn(SystemStats) -> SystemStats>(system_stats);
}
