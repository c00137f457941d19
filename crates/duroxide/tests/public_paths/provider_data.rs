//! Data that crosses the border to a provider. Structs are taken apart and built without `..`, as a
//! provider builds them.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use duroxide::providers::error::ProviderError;
use duroxide::providers::management;
use duroxide::providers::{
    DeleteInstanceResult, DispatcherCapabilityFilter, ExecutionInfo, ExecutionMetadata,
    InstanceFilter, InstanceInfo, InstanceTree, KvEntry, OrchestrationItem, PruneOptions,
    PruneResult, QueueDepths, ScheduledActivityIdentifier, SemverRange, SessionFetchConfig,
    SystemMetrics, TagFilter, WorkItem,
};
use duroxide::{ErrorDetails, Event};
use semver::Version;

use crate::is;

fn filters() {
    let tags = || HashSet::from([String::from("gpu")]);
    for filter in [TagFilter::Tags(tags()), TagFilter::DefaultAnd(tags())] {
        match filter {
            TagFilter::DefaultOnly | TagFilter::Any | TagFilter::None => {}
            TagFilter::Tags(tags) | TagFilter::DefaultAnd(tags) => is::<HashSet<String>>(tags),
        }
    }
    is::<TagFilter>(TagFilter::tags(["gpu", "cpu"]));
    is::<TagFilter>(TagFilter::tags(vec![String::from("gpu")]));
    is::<TagFilter>(TagFilter::default_and(["gpu"]));
    is::<TagFilter>(TagFilter::default_only());
    is::<TagFilter>(TagFilter::none());
    is::<bool>(TagFilter::any().matches(Some("gpu")));
    let range = SemverRange { min: Version::new(0, 1, 0), max: Version::new(1, 0, 0) };
    is::<bool>(range.contains(&Version::new(0, 2, 0)));
    is::<SemverRange>(SemverRange::new(range.min, range.max));
    let ranges = vec![SemverRange::default_for_current_build()];
    let filter = DispatcherCapabilityFilter { supported_duroxide_versions: ranges };
    is::<bool>(filter.is_compatible(&Version::new(0, 2, 0)));
    is::<DispatcherCapabilityFilter>(DispatcherCapabilityFilter::default_for_current_build());
}

fn items(history: Vec<Event>, messages: Vec<WorkItem>) {
    let entry = KvEntry { value: String::from("v"), last_updated_at_ms: 1_u64 };
    let item = OrchestrationItem {
        instance: String::from("id"),
        orchestration_name: String::from("O"),
        execution_id: 1_u64,
        version: String::from("1.0.0"),
        history,
        messages,
        history_error: None::<String>,
        kv_snapshot: HashMap::from([(String::from("k"), entry)]),
    };
    is::<OrchestrationItem>(item);
    let metadata = ExecutionMetadata {
        status: None::<String>,
        output: None::<String>,
        orchestration_name: None::<String>,
        orchestration_version: None::<String>,
        parent_instance_id: None::<String>,
        pinned_duroxide_version: Some(Version::new(0, 2, 0)),
    };
    is::<ExecutionMetadata>(metadata);
    let activity = ScheduledActivityIdentifier {
        instance: String::from("id"),
        execution_id: 1_u64,
        activity_id: 2_u64,
    };
    is::<ScheduledActivityIdentifier>(activity);
    let session =
        SessionFetchConfig { owner_id: String::from("owner"), lock_timeout: Duration::ZERO };
    is::<SessionFetchConfig>(session);
}

// No wildcard: a new variant would break providers that match without one.
fn work_item(item: WorkItem) {
    match item {
        WorkItem::StartOrchestration {
            instance,
            orchestration,
            input,
            version,
            parent_instance,
            parent_id,
            parent_execution_id,
            execution_id,
        } => {
            is::<([String; 3], u64)>(([instance, orchestration, input], execution_id));
            is::<[Option<String>; 2]>([version, parent_instance]);
            is::<[Option<u64>; 2]>([parent_id, parent_execution_id]);
        }
        WorkItem::ActivityExecute { instance, execution_id, id, name, input, session_id, tag } => {
            is::<([String; 3], [u64; 2])>(([instance, name, input], [execution_id, id]));
            is::<[Option<String>; 2]>([session_id, tag]);
        }
        WorkItem::ActivityCompleted { instance, execution_id, id, result } => {
            is::<([String; 2], [u64; 2])>(([instance, result], [execution_id, id]));
        }
        WorkItem::ActivityFailed { instance, execution_id, id, details } => {
            is::<(String, [u64; 2], ErrorDetails)>((instance, [execution_id, id], details));
        }
        WorkItem::TimerFired { instance, execution_id, id, fire_at_ms } => {
            is::<(String, [u64; 3])>((instance, [execution_id, id, fire_at_ms]));
        }
        WorkItem::ExternalRaised { instance, name, data }
        | WorkItem::QueueMessage { instance, name, data } => {
            is::<[String; 3]>([instance, name, data]);
        }
        WorkItem::CancelInstance { instance, reason } => is::<[String; 2]>([instance, reason]),
        other => answers_and_continuations(other),
    }
}

fn answers_and_continuations(item: WorkItem) {
    match item {
        WorkItem::SubOrchCompleted { parent_instance, parent_execution_id, parent_id, result } => {
            is::<([String; 2], [u64; 2])>((
                [parent_instance, result],
                [parent_execution_id, parent_id],
            ));
        }
        WorkItem::SubOrchFailed { parent_instance, parent_execution_id, parent_id, details } => {
            is::<(String, ErrorDetails)>((parent_instance, details));
            is::<[u64; 2]>([parent_execution_id, parent_id]);
        }
        WorkItem::ContinueAsNew {
            instance,
            orchestration,
            input,
            version,
            parent_instance,
            parent_id,
            parent_execution_id,
            carry_forward_events,
            initial_custom_status,
        } => {
            is::<[String; 3]>([instance, orchestration, input]);
            is::<[Option<String>; 3]>([version, parent_instance, initial_custom_status]);
            is::<[Option<u64>; 2]>([parent_id, parent_execution_id]);
            is::<Vec<(String, String)>>(carry_forward_events);
        }
        WorkItem::StartOrchestration { .. }
        | WorkItem::ActivityExecute { .. }
        | WorkItem::ActivityCompleted { .. }
        | WorkItem::ActivityFailed { .. }
        | WorkItem::TimerFired { .. }
        | WorkItem::ExternalRaised { .. }
        | WorkItem::QueueMessage { .. }
        | WorkItem::CancelInstance { .. } => {}
        #[cfg(feature = "replay-version-test")]
        #[allow(unreachable_patterns, reason = "the feature may add work items")]
        _ => {}
    }
}

fn errors() {
    is::<duroxide::providers::ProviderError>(ProviderError::retryable("op", String::from("m")));
    let error = ProviderError::permanent(String::from("op"), "m");
    is::<bool>(error.is_retryable());
    is::<ErrorDetails>(error.to_infrastructure_error());
    let ProviderError { operation, message, retryable, kind, .. } = error;
    is::<([String; 2], bool)>(([operation, message], retryable));
    is::<duroxide::providers::ProviderErrorKind>(kind);
    is::<ProviderError>(ProviderError::from(String::from("m")));
    is::<ProviderError>(ProviderError::from("m"));
}

fn infos() {
    let info = InstanceInfo {
        instance_id: String::from("id"),
        orchestration_name: String::from("O"),
        orchestration_version: String::from("1.0.0"),
        current_execution_id: 1_u64,
        status: String::from("Running"),
        output: None::<String>,
        created_at: 1_u64,
        updated_at: 1_u64,
        parent_instance_id: None::<String>,
    };
    is::<management::InstanceInfo>(info);
    let info = ExecutionInfo {
        execution_id: 1_u64,
        status: String::from("Running"),
        output: None::<String>,
        started_at: 1_u64,
        completed_at: None::<u64>,
        event_count: 1_usize,
    };
    is::<management::ExecutionInfo>(info);
    let metrics = SystemMetrics {
        total_instances: 1_u64,
        total_executions: 1_u64,
        running_instances: 1_u64,
        completed_instances: 1_u64,
        failed_instances: 1_u64,
        total_events: 1_u64,
    };
    is::<management::SystemMetrics>(metrics);
    let depths =
        QueueDepths { orchestrator_queue: 1_usize, worker_queue: 1_usize, timer_queue: 0_usize };
    is::<management::QueueDepths>(depths);
}

fn retention() {
    let filter = InstanceFilter {
        instance_ids: Some(vec![String::from("id")]),
        completed_before: Some(1_u64),
        limit: Some(1_u32),
    };
    is::<management::InstanceFilter>(filter);
    let options = PruneOptions { keep_last: Some(1_u32), completed_before: Some(1_u64) };
    is::<management::PruneOptions>(options);
    let deleted = DeleteInstanceResult {
        instances_deleted: 1_u64,
        executions_deleted: 1_u64,
        events_deleted: 1_u64,
        queue_messages_deleted: 1_u64,
    };
    is::<management::DeleteInstanceResult>(deleted);
    let pruned = PruneResult {
        instances_processed: 1_u64,
        executions_deleted: 1_u64,
        events_deleted: 1_u64,
    };
    is::<management::PruneResult>(pruned);
    let tree = InstanceTree { root_id: String::from("id"), all_ids: vec![String::from("id")] };
    is::<(bool, usize)>((tree.is_root_only(), tree.size()));
    is::<management::InstanceTree>(tree);
}

#[test]
fn values_can_be_built_and_taken_apart() {
    filters();
    items(Vec::new(), Vec::new());
    errors();
    infos();
    retention();
    is::<fn(WorkItem)>(work_item);
}
