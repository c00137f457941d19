//! The check before a node starts.

use std::sync::Arc;

use duroxide::check::StartupCheck;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{
    DuroxideRuntime, OrchestrationRegistry, RuntimeBuildError, RuntimeOptions,
};
use duroxide::{OrchestrationContext, OrchestrationStatus};

use crate::support::{order, waiting_orders};

fn other_order() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Order", |ctx: OrchestrationContext, input: String| async move {
            ctx.schedule_activity("Other", input).await
        })
        .build()
}

async fn start(
    store: &Arc<dyn duroxide::providers::Provider>,
    code: OrchestrationRegistry,
    check: StartupCheck,
) -> Result<(), RuntimeBuildError> {
    // Without turns, so that a node that starts changes nothing.
    let options =
        RuntimeOptions::default().with_startup_check(check).with_orchestration_concurrency(0);
    let runtime = DuroxideRuntime::builder()
        .with_provider(Arc::clone(store))
        .with_activities(ActivityRegistry::builder().build())
        .with_orchestrations(code)
        .with_options(options)
        .build()
        .await?;
    runtime.shutdown(None).await;
    Ok(())
}

#[tokio::test]
async fn a_node_that_would_break_executions_refuses_to_start_if_asked() {
    let store = waiting_orders(1).await;
    let refusal = start(&store, other_order(), StartupCheck::Refuse).await.unwrap_err();
    let text = refusal.to_string();
    assert!(text.contains("does not start") && text.contains("order-0"), "{text}");
    assert_eq!(start(&store, other_order(), StartupCheck::Warn).await, Ok(()));
    assert_eq!(start(&store, other_order(), StartupCheck::Off).await, Ok(()));
    assert_eq!(start(&store, order(), StartupCheck::Refuse).await, Ok(()));
    let status = duroxide::Client::new(store).get_orchestration_status("order-0").await.unwrap();
    assert!(matches!(status, OrchestrationStatus::Running { .. }), "{status:?}");
}

#[tokio::test]
async fn executions_that_other_nodes_run_do_not_keep_a_node_from_starting() {
    let store = waiting_orders(1).await;
    let nothing = OrchestrationRegistry::builder().build();
    assert_eq!(start(&store, nothing, StartupCheck::Refuse).await, Ok(()));
}
