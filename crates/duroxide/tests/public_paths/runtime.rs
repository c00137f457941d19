//! `Runtime`, its options, handlers and limits.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::{Provider, SemverRange, TagFilter, WorkItem};
use duroxide::runtime::observability::{MetricsSnapshot, ObservabilityHandle};
use duroxide::runtime::registry::{ActivityRegistry, OrchestrationRegistry};
use duroxide::runtime::{
    self, ActivityHandler, FnActivity, FnOrchestration, ObservabilityConfig,
    OrchestrationDescriptor, OrchestrationHandler, OrchestrationStatus, Runtime, RuntimeOptions,
    UnregisteredBackoffConfig, limits,
};
use duroxide::{ActivityContext, ErrorDetails, OrchestrationContext};

use crate::{is, is_send};

struct Handler;

#[async_trait]
impl OrchestrationHandler for Handler {
    async fn invoke(&self, _ctx: OrchestrationContext, input: String) -> Result<String, String> {
        Ok(input)
    }
}

#[async_trait]
impl ActivityHandler for Handler {
    async fn invoke(&self, _ctx: ActivityContext, input: String) -> Result<String, String> {
        Ok(input)
    }
}

fn handlers() {
    is::<Arc<dyn OrchestrationHandler>>(Arc::new(Handler));
    is::<Arc<dyn ActivityHandler>>(Arc::new(Handler));
    let orchestration = FnOrchestration(|_ctx: OrchestrationContext, input: String| async move {
        Ok::<String, String>(input)
    });
    is::<Arc<dyn OrchestrationHandler>>(Arc::new(orchestration));
    let activity =
        FnActivity(
            |_ctx: ActivityContext, input: String| async move { Ok::<String, String>(input) },
        );
    is::<Arc<dyn ActivityHandler>>(Arc::new(activity));
    is::<fn(&WorkItem) -> &'static str>(runtime::kind_of);
}

async fn lifecycle(store: Arc<dyn Provider>, a: ActivityRegistry, o: OrchestrationRegistry) {
    let started = Runtime::start_with_store(Arc::clone(&store), a.clone(), o.clone()).await;
    is::<Arc<Runtime>>(started);
    let options = RuntimeOptions { max_attempts: 3, ..RuntimeOptions::default() };
    let runtime: Arc<Runtime> = Runtime::start_with_options(store, a, o, options).await;
    is::<Option<OrchestrationDescriptor>>(runtime.get_orchestration_descriptor("id").await);
    is::<Option<MetricsSnapshot>>(runtime.metrics_snapshot());
    is::<Option<&ObservabilityHandle>>(runtime.observability_handle());
    let () = Arc::clone(&runtime).shutdown(None).await;
    let () = runtime.shutdown(Some(1_000_u64)).await;
}

#[cfg(feature = "sqlite")]
async fn in_memory(activities: ActivityRegistry, orchestrations: OrchestrationRegistry) {
    is::<Arc<Runtime>>(Runtime::start(activities, orchestrations).await);
}

fn options(options: RuntimeOptions) {
    is::<[Duration; 2]>([
        options.dispatcher_min_poll_interval,
        options.dispatcher_long_poll_timeout,
    ]);
    is::<[usize; 2]>([options.orchestration_concurrency, options.worker_concurrency]);
    is::<[Duration; 4]>([
        options.orchestrator_lock_timeout,
        options.orchestrator_lock_renewal_buffer,
        options.worker_lock_timeout,
        options.worker_lock_renewal_buffer,
    ]);
    is::<ObservabilityConfig>(options.observability);
    is::<UnregisteredBackoffConfig>(options.unregistered_backoff);
    is::<u32>(options.max_attempts);
    is::<Duration>(options.activity_cancellation_grace_period);
    is::<Option<SemverRange>>(options.supported_replay_versions);
    is::<[Duration; 4]>([
        options.session_lock_timeout,
        options.session_lock_renewal_buffer,
        options.session_idle_timeout,
        options.session_cleanup_interval,
    ]);
    is::<usize>(options.max_sessions_per_runtime);
    is::<Option<String>>(options.worker_node_id);
    is::<TagFilter>(options.worker_tag_filter);
    is::<bool>(options.replay_every_turn);
}

fn backoff() {
    let config = UnregisteredBackoffConfig {
        base_delay: Duration::from_secs(1),
        max_delay: Duration::from_secs(60),
    };
    is::<Duration>(config.delay(1_u32));
}

fn descriptor(descriptor: OrchestrationDescriptor) -> OrchestrationDescriptor {
    let OrchestrationDescriptor { name, version, parent_instance, parent_id } = descriptor;
    is::<([&str; 2], Option<u64>)>(([&name, &version], parent_id));
    is::<Option<&String>>(parent_instance.as_ref());
    OrchestrationDescriptor { name, version, parent_instance, parent_id }
}

fn status(status: OrchestrationStatus) {
    let (custom_status, custom_status_version) = match status {
        OrchestrationStatus::NotFound => (None, 0),
        OrchestrationStatus::Running { custom_status, custom_status_version } => {
            (custom_status, custom_status_version)
        }
        OrchestrationStatus::Completed { output, custom_status, custom_status_version } => {
            is::<String>(output);
            (custom_status, custom_status_version)
        }
        OrchestrationStatus::Failed { details, custom_status, custom_status_version } => {
            is::<ErrorDetails>(details);
            (custom_status, custom_status_version)
        }
    };
    is::<(Option<String>, u64)>((custom_status, custom_status_version));
}

#[test]
fn limits_keep_their_values() {
    let values: [usize; 6] = [
        limits::MAX_CARRY_FORWARD_EVENTS,
        limits::MAX_CUSTOM_STATUS_BYTES,
        limits::MAX_WORKER_TAGS,
        limits::MAX_TAG_NAME_BYTES,
        limits::MAX_KV_KEYS,
        limits::MAX_KV_VALUE_BYTES,
    ];
    assert_eq!(values, [100, 262_144, 5, 256, 150, 65_536]);
    assert_eq!(duroxide::providers::MAX_WORKER_TAGS, limits::MAX_WORKER_TAGS);
}

#[test]
fn signatures_compile() {
    handlers();
    backoff();
    is::<fn(Arc<dyn Provider>, ActivityRegistry, OrchestrationRegistry) -> _>(
        |store, activities, orchestrations| is_send(lifecycle(store, activities, orchestrations)),
    );
    #[cfg(feature = "sqlite")]
    is::<fn(ActivityRegistry, OrchestrationRegistry) -> _>(|a, o| is_send(in_memory(a, o)));
    is::<fn(RuntimeOptions)>(options);
    is::<fn(OrchestrationDescriptor) -> OrchestrationDescriptor>(descriptor);
    is::<fn(OrchestrationStatus)>(status);
}
