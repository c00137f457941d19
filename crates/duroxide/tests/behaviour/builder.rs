//! Starting a node.

use std::time::Duration;

use duroxide::runtime::{DuroxideRuntime, Runtime, RuntimeBuildError, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationStatus};

use crate::support::{Node, TIMEOUT, activities, memory, orchestrations};

async fn greet(ctx: OrchestrationContext, name: String) -> Result<String, String> {
    ctx.schedule_activity("Greet", name).await
}

async fn greeting(_: ActivityContext, name: String) -> Result<String, String> {
    Ok(format!("Hello, {name}!"))
}

fn contradicting() -> RuntimeOptions {
    RuntimeOptions { session_idle_timeout: Duration::from_secs(1), ..RuntimeOptions::default() }
}

#[tokio::test]
async fn a_builder_starts_a_node_with_its_parts() {
    let store = memory().await;
    let runtime = DuroxideRuntime::builder()
        .with_provider(store.clone())
        .with_activities(activities().register("Greet", greeting).build())
        .with_orchestrations(orchestrations().register("Greet", greet).build())
        .with_options(RuntimeOptions::default())
        .build()
        .await
        .unwrap();
    let client = Client::new(store);
    client.start_orchestration("hello", "Greet", "World").await.unwrap();
    match client.wait_for_orchestration("hello", TIMEOUT).await.unwrap() {
        OrchestrationStatus::Completed { output, .. } => assert_eq!(output, "Hello, World!"),
        other => panic!("{other:?}"),
    }
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn a_builder_reports_missing_and_contradicting_parts() {
    let none = DuroxideRuntime::builder().build().await.unwrap_err();
    assert_eq!(none, RuntimeBuildError::NoProvider);
    assert_eq!(none.to_string(), "a runtime needs a store: call with_provider first");
    let builder = DuroxideRuntime::builder().with_provider(memory().await);
    let refused = builder.with_options(contradicting()).build().await.unwrap_err();
    assert!(refused.to_string().starts_with("session_idle_timeout ("), "{refused}");
    let builder = DuroxideRuntime::builder().with_provider(memory().await);
    let options = RuntimeOptions::default().with_max_attempts(0);
    let refused = builder.with_options(options).build().await.unwrap_err();
    assert!(refused.to_string().starts_with("max_attempts (0)"), "{refused}");
}

#[tokio::test]
async fn a_builder_rejects_registries_that_have_mistakes() {
    let twice = activities().register("Greet", greeting).register("Greet", greeting).build();
    let mistakes = twice.mistakes().to_vec();
    let builder = DuroxideRuntime::builder().with_provider(memory().await);
    let refused = builder.with_activities(twice).build().await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the activity registry has mistakes: duplicate activity registration: Greet@1.0.0"
    );
    match refused {
        RuntimeBuildError::Activities(error) => assert_eq!(error.mistakes(), mistakes),
        other => panic!("{other:?}"),
    }
    let invalid = orchestrations().register_at_version("Greet", "1.x", greet).build();
    let builder = DuroxideRuntime::builder().with_provider(memory().await);
    let refused = builder.with_orchestrations(invalid).build().await.unwrap_err();
    assert!(matches!(refused, RuntimeBuildError::Orchestrations(_)), "{refused}");
}

#[tokio::test]
async fn a_runtime_started_directly_accepts_registries_that_have_mistakes() {
    let store = memory().await;
    let twice = activities().register("Greet", greeting).register("Greet", greeting).build();
    let greets = orchestrations().register("Greet", greet).build();
    let runtime = Runtime::start_with_store(store.clone(), twice, greets).await;
    let client = Client::new(store);
    client.start_orchestration("hello", "Greet", "World").await.unwrap();
    let greeted = client.wait_for_orchestration_typed("hello", TIMEOUT).await.unwrap();
    assert_eq!(greeted, Ok("Hello, World!".to_owned()));
    runtime.shutdown(None).await;
}

#[tokio::test]
#[should_panic(expected = "session_idle_timeout (1s)")]
async fn a_node_does_not_start_with_options_that_contradict_each_other() {
    let (activities, orchestrations) = (activities().build(), orchestrations().build());
    Runtime::start_with_options(memory().await, activities, orchestrations, contradicting()).await;
}

#[tokio::test]
async fn a_node_without_a_store_uses_one_in_memory() {
    let runtime = Runtime::start(activities().build(), orchestrations().build()).await;
    assert!(runtime.get_orchestration_descriptor("unknown").await.is_none());
    assert_eq!(runtime.metrics_snapshot().unwrap().orch_starts, 0);
    runtime.shutdown(None).await;
}

#[tokio::test]
async fn durations_beyond_the_clock_mean_never() {
    let options = RuntimeOptions {
        orchestrator_lock_timeout: Duration::MAX,
        worker_lock_timeout: Duration::from_secs(u64::MAX / 2),
        session_idle_timeout: Duration::MAX,
        dispatcher_min_poll_interval: Duration::MAX,
        dispatcher_long_poll_timeout: Duration::from_millis(1),
        ..RuntimeOptions::default()
    };
    let node = Node::on(
        &memory().await,
        options,
        orchestrations().register("Greet", greet),
        activities().register("Greet", greeting),
    )
    .await;
    assert_eq!(node.run("hello", "Greet", "World").await, "Hello, World!");
    node.stop().await;
}
