//! Options of the attributes, and which functions a node must have.

use duroxide::prelude::*;
use duroxide::typed::{Activity, Callable, Orchestration};

#[activity(
    name = "Render",
    tag = "gpu",
    timeout = "30s",
    schedule_to_start = "10m",
    retry(attempts = 4, backoff = "1s", max = "1m", jitter = 0.2, deadline = "2h", timeouts)
)]
async fn render(_ctx: ActivityContext, scene: String) -> Result<String, String> {
    Ok(scene)
}

#[activity(elsewhere)]
async fn remote(_ctx: ActivityContext) -> Result<(), String> {
    Ok(())
}

#[activity]
async fn local(_ctx: ActivityContext) -> Result<(), String> {
    Ok(())
}

async fn helper(ctx: &OrchestrationContext) -> Result<(), String> {
    Ok(ctx.call(local, ()).await?)
}

#[orchestration(version = "2.1.0", calls(local))]
async fn film(ctx: OrchestrationContext, scenes: Vec<String>) -> Result<(), String> {
    for scene in scenes {
        ctx.call(render, scene).await?;
    }
    ctx.call(remote, ()).await?;
    helper(&ctx).await
}

#[test]
fn options_of_the_attribute_are_those_of_the_handle() {
    assert_eq!(<render as Callable>::NAME, "Render");
    let options = <render as Activity>::OPTIONS;
    assert_eq!(options.tag, Some("gpu"));
    assert_eq!(options.timeout, Some(Duration::from_secs(30)));
    assert_eq!(options.schedule_to_start, Some(Duration::from_secs(600)));
    let retry = options.retry.unwrap();
    assert_eq!((retry.attempts_max(), retry.deadline()), (4, Some(Duration::from_secs(7200))));
    assert!(retry.is_timeout_retried());
    let delays: Vec<_> = (1..9).map(|n| retry.delay(n, 0)).collect();
    assert!(delays[0] > Duration::from_millis(799) && delays[7] <= Duration::from_secs(60));
    assert_eq!(<film as Orchestration>::VERSION, Some("2.1.0"));
}

#[test]
fn an_orchestration_knows_what_it_calls() {
    let called = <film as Orchestration>::calls();
    let names: Vec<_> = called.iter().map(|called| (called.name, called.elsewhere)).collect();
    assert_eq!(names, [("Render", false), ("remote", true), ("local", false)]);
}

async fn start(options: RuntimeOptions, activities: ActivityRegistry) -> Result<(), String> {
    let store = Arc::new(SqliteProvider::new_in_memory().await.unwrap());
    let builder = DuroxideRuntime::builder().with_provider(store).with_options(options);
    let started = builder.with_activities(activities).register(film).build().await;
    let runtime = started.map_err(|error| error.to_string())?;
    runtime.shutdown(Some(0)).await;
    Ok(())
}

#[tokio::test]
async fn a_node_needs_what_it_could_run_itself() {
    let with_local = || ActivityRegistry::builder().register_fn(local);
    let default = RuntimeOptions::default;
    // The default node runs no activities with tags.
    assert_eq!(start(default(), with_local().build()).await, Ok(()));
    let missing = start(default(), ActivityRegistry::default()).await.unwrap_err();
    assert!(missing.contains("orchestration 'film' calls activity 'local'"), "{missing}");
    assert!(missing.contains("elsewhere"), "the text says what to do: {missing}");

    let filter = duroxide::TagFilter::default_and(["gpu"]);
    let gpu = || default().with_worker_tag_filter(filter.clone());
    let missing = start(gpu(), with_local().build()).await.unwrap_err();
    assert!(missing.contains("activity 'Render'") && !missing.contains("local"), "{missing}");
    assert_eq!(start(gpu(), with_local().elsewhere(render).build()).await, Ok(()));
    assert_eq!(start(gpu(), with_local().register_fn(render).build()).await, Ok(()));

    let turns_only = default().with_worker_concurrency(0);
    assert_eq!(start(turns_only, ActivityRegistry::default()).await, Ok(()));
}

#[tokio::test]
#[should_panic(expected = "orchestration 'film' calls activity 'local'")]
async fn the_start_without_a_builder_panics_with_the_same_text() {
    let orchestrations = OrchestrationRegistry::builder().register_fn(film).build();
    Runtime::start(ActivityRegistry::default(), orchestrations).await;
}
