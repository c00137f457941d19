//! The code of victims and of healthy work.

use std::time::Duration;

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

/// Longer than any run.
const LONG: Duration = Duration::from_secs(1_000_000);

/// The key that a victim sets when its rows are about to be stored.
pub(super) const READY: &str = "ready";

pub(super) fn activities() -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Echo", |_ctx: ActivityContext, input: String| async move { Ok(input) })
        .build()
}

pub(super) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Victim", victim)
        .register("Child", child)
        .register("Healthy", healthy)
        .build()
}

/// Leaves rows in every table: an activity without a worker, a child, a timer, keys, attributes.
async fn victim(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    ctx.set_custom_status(format!("status of {input}"));
    ctx.set_attribute("city", "Paris");
    ctx.set_kv_value("key", "value");
    let unserved = ctx.schedule_activity("Unserved", "input").with_tag("nowhere");
    let child = ctx.schedule_sub_orchestration_with_id("Child", format!("{input}-child"), "c");
    let timer = ctx.schedule_timer(LONG);
    let echo = ctx.schedule_activity("Echo", "first").await?;
    ctx.set_kv_value(READY, echo);
    ctx.schedule_wait("go").await;
    let last = ctx.schedule_activity("Echo", "last").await?;
    drop((unserved, timer));
    Ok(format!("{last} {}", child.await?))
}

async fn child(ctx: OrchestrationContext, _input: String) -> Result<String, String> {
    let data = ctx.schedule_wait("go").await;
    ctx.schedule_activity("Echo", data).await
}

/// An activity, a timer, a key and a child.
async fn healthy(ctx: OrchestrationContext, input: String) -> Result<String, String> {
    let one = ctx.schedule_activity("Echo", input.clone()).await?;
    ctx.schedule_timer(Duration::from_millis(1)).await;
    ctx.set_kv_value("key", &one);
    if input == "leaf" {
        return Ok(one);
    }
    let leaf = ctx.schedule_sub_orchestration("Healthy", "leaf").await?;
    Ok(format!("{one} {leaf}"))
}
