//! `Client` and `ClientError`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use duroxide::client::{
    BulkAct, BulkOutcomes, BulkPlan, BulkProgress, BulkRequest, Client, ClientError, EditPlan,
    MendOptions, MendPlan, MendPoint, RetentionPlan, RetentionPolicy, RetentionReport,
    RetentionRule, StartRequest, UnservedWork, Why,
};
use duroxide::providers::{
    ActivityProgress, InstanceCount, InstanceOrder, InstancePage, InstanceQuery, LiveWorker,
    Provider, ProviderError,
};
use duroxide::query::{Filter, InstanceRow};
use duroxide::{
    AttributeValue, DeleteInstanceResult, Event, ExecutionInfo, InstanceEdit, InstanceFilter,
    InstanceInfo, InstanceTree, OrchestrationStatus, PruneOptions, PruneResult, QueueDepths,
    SystemMetrics, SystemStats,
};

use crate::{is, is_send};

type Answer<T> = Result<T, ClientError>;
const LIMIT: Duration = Duration::from_secs(1);

async fn starts(client: &Client) {
    is::<Answer<()>>(client.start_orchestration("id", "O", String::from("in")).await);
    is::<Answer<()>>(client.start_orchestration_versioned("id", "O", "1.0.0", "in").await);
    is::<Answer<()>>(client.start_orchestration_typed::<Vec<u8>>("id", "O", vec![1]).await);
    is::<Answer<()>>(
        client.start_orchestration_versioned_typed::<Vec<u8>>("id", "O", "1.0.0", vec![1]).await,
    );
}

async fn mends(client: &Client) {
    let options = MendOptions::default().with_reason("why").with_detached(false);
    is::<Answer<MendPlan>>(client.plan_retry("id", &options).await);
    is::<Answer<MendPlan>>(client.retry_instance("id", &options).await);
    is::<Answer<MendPlan>>(client.plan_reset("id", MendPoint::Event(1), &options).await);
    is::<Answer<MendPlan>>(client.reset_instance("id", MendPoint::First, &options).await);
    is::<Answer<MendPlan>>(client.plan_fork("id", "new", MendPoint::LastFailed, &options).await);
    is::<Answer<MendPlan>>(client.fork_instance("id", "new", MendPoint::First, &options).await);
    let edit = InstanceEdit::default().with_key("k", "v").with_key_removed("l").by("who", "why");
    let edit = edit.with_custom_status("s").with_custom_status_removed();
    is::<Answer<EditPlan>>(client.plan_edit("id", &edit).await);
    is::<Answer<EditPlan>>(client.edit_instance("id", &edit).await);
}

async fn acts_on_many(client: &Client) {
    let request = BulkRequest::matching(BulkAct::Cancel, Filter::all())
        .by("who", "why")
        .with_rate_per_second(5)
        .with_id("act");
    is::<Option<Filter>>(request.effective_filter());
    is::<Answer<BulkPlan>>(client.plan_bulk(&request).await);
    is::<Answer<String>>(client.start_bulk(&request).await);
    is::<Answer<BulkProgress>>(client.get_bulk("act").await);
    is::<Answer<BulkProgress>>(client.wait_for_bulk("act", LIMIT).await);
    is::<Answer<Vec<BulkProgress>>>(client.list_bulk_acts(1).await);
    is::<Answer<BulkOutcomes>>(client.read_bulk_outcomes("act", 0).await);
    let rule: Result<RetentionRule, String> = "name:A* status:failed keep:1d last:2".parse();
    let policy = RetentionPolicy::new(rule).with_interval(LIMIT);
    is::<Answer<RetentionPlan>>(client.plan_retention(&policy).await);
    is::<Answer<RetentionReport>>(client.apply_retention(&policy, 1).await);
}

async fn signals(client: &Client) {
    is::<Answer<()>>(client.raise_event("id", "event", "data").await);
    is::<Answer<()>>(client.raise_event_typed::<u64>("id", "event", &1).await);
    is::<Answer<()>>(client.enqueue_event("id", "queue", String::from("data")).await);
    is::<Answer<()>>(client.enqueue_event_typed::<u64>("id", "queue", &1).await);
    is::<Answer<()>>(client.cancel_instance("id", "reason").await);
    is::<Answer<()>>(client.request_cancellation("id", "reason", LIMIT).await);
}

#[expect(deprecated, reason = "the old spelling stays until 1.0")]
async fn old_spelling(client: &Client) {
    is::<Answer<()>>(client.raise_event_persistent("id", "queue", "data").await);
}

async fn waits(client: &Client) {
    is::<Answer<OrchestrationStatus>>(client.get_orchestration_status("id").await);
    is::<Answer<OrchestrationStatus>>(client.wait_for_orchestration("id", LIMIT).await);
    is::<Answer<Result<u64, String>>>(
        client.wait_for_orchestration_typed::<u64>("id", LIMIT).await,
    );
    is::<Answer<OrchestrationStatus>>(
        client.wait_for_status_change("id", 0_u64, LIMIT, LIMIT).await,
    );
}

async fn key_values(client: &Client) {
    is::<Answer<Option<String>>>(client.get_kv_value("id", "key").await);
    is::<Answer<Option<u64>>>(client.get_kv_value_typed::<u64>("id", "key").await);
    is::<Answer<HashMap<String, String>>>(client.get_kv_all_values("id").await);
    is::<Answer<String>>(client.wait_for_kv_value("id", "key", LIMIT).await);
    is::<Answer<u64>>(client.wait_for_kv_value_typed::<u64>("id", "key", LIMIT).await);
}

async fn queries(client: &Client) {
    let filter: Filter = Filter::parse("status:failed").unwrap_or_default();
    is::<Answer<InstanceCount>>(client.count_instances(&filter).await);
    is::<Answer<InstanceCount>>(client.count_instances_up_to(&filter, 5).await);
    let query = InstanceQuery::new(filter).sorted_by(InstanceOrder::Id).with_limit(5);
    is::<Answer<InstancePage>>(client.query_instances(query).await);
    is::<Answer<Option<InstanceRow>>>(client.get_instance_row("id").await);
    let start = StartRequest::new("id", "O").with_attribute("name", AttributeValue::Bool(true));
    is::<Answer<()>>(client.start_with(start).await);
}

async fn inspection(client: &Client) {
    is::<bool>(client.has_management_capability());
    is::<Answer<Option<SystemStats>>>(client.get_orchestration_stats("id").await);
    is::<Answer<Vec<String>>>(client.list_all_instances().await);
    is::<Answer<Vec<String>>>(client.list_instances_by_status("Running").await);
    is::<Answer<InstanceInfo>>(client.get_instance_info("id").await);
    is::<Answer<ExecutionInfo>>(client.get_execution_info("id", 1_u64).await);
    is::<Answer<Vec<u64>>>(client.list_executions("id").await);
    is::<Answer<Vec<Event>>>(client.read_execution_history("id", 1_u64).await);
    is::<Answer<SystemMetrics>>(client.get_system_metrics().await);
    is::<Answer<QueueDepths>>(client.get_queue_depths().await);
    is::<Answer<InstanceTree>>(client.get_instance_tree("id").await);
    is::<Answer<Vec<ActivityProgress>>>(client.get_activity_progress("id").await);
    is::<Answer<Vec<ActivityProgress>>>(client.wait_for_activity_progress("id", &[], LIMIT).await);
    is::<Answer<Vec<LiveWorker>>>(client.list_live_workers().await);
    is::<Answer<Why>>(client.why("id").await);
    is::<Answer<Vec<UnservedWork>>>(client.list_unserved_work(100_u32).await);
}

async fn retention(client: &Client) {
    let filter = InstanceFilter::default;
    let options = PruneOptions::default;
    is::<Answer<DeleteInstanceResult>>(client.delete_instance("id", true).await);
    is::<Answer<DeleteInstanceResult>>(client.delete_instance_bulk(filter()).await);
    is::<Answer<PruneResult>>(client.prune_executions("id", options()).await);
    is::<Answer<PruneResult>>(client.prune_executions_bulk(filter(), options()).await);
}

fn errors(error: ClientError) {
    is::<ClientError>(ClientError::from(ProviderError::permanent("op", "message")));
    is::<bool>(error.is_retryable());
    match error {
        ClientError::Provider(inner) => is::<ProviderError>(inner),
        ClientError::ManagementNotAvailable | ClientError::Timeout => {}
        ClientError::InvalidInput { message } => is::<String>(message),
        ClientError::InstanceStillRunning { instance_id }
        | ClientError::CannotDeleteSubOrchestration { instance_id }
        | ClientError::InstanceNotFound { instance_id } => is::<String>(instance_id),
    }
}

async fn everything(store: Arc<dyn Provider>) {
    let client = Client::new(store);
    is_send(starts(&client)).await;
    is_send(mends(&client)).await;
    is_send(acts_on_many(&client)).await;
    is_send(signals(&client)).await;
    is_send(old_spelling(&client)).await;
    is_send(waits(&client)).await;
    is_send(key_values(&client)).await;
    is_send(queries(&client)).await;
    is_send(inspection(&client)).await;
    is_send(retention(&client)).await;
}

#[test]
fn signatures_compile() {
    is::<fn(Arc<dyn Provider>) -> _>(|store| is_send(everything(store)));
    is::<fn(ClientError)>(errors);
}
