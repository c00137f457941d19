//! The code of the instances: orders, approvals, loops, and one of each kind of waiting.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::Provider;
use duroxide::runtime::Runtime;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{
    ActivityContext, BackoffStrategy, OrchestrationContext, OrchestrationRegistry, RetryPolicy,
};

const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// A node that runs all of it, apart from what no node can run. The bank is open if the file is
/// there.
pub(crate) async fn node(store: &Arc<dyn Provider>, bank: PathBuf) -> Arc<Runtime> {
    Runtime::start_with_store(Arc::clone(store), activities(bank), orchestrations()).await
}

fn activities(bank: PathBuf) -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Pay", move |_: ActivityContext, order: String| {
            let is_open = Path::new(&bank).exists();
            async move { if is_open { Ok(order) } else { Err("the bank is closed".to_owned()) } }
        })
        .register("Fail", |_: ActivityContext, _: String| async move {
            Err::<String, _>("the printer is on fire".to_owned())
        })
        .register("Sleep", |ctx: ActivityContext, _: String| async move {
            ctx.cancelled().await;
            Ok(String::new())
        })
        .build()
}

fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder()
        .register("Greeting", |_: OrchestrationContext, name: String| async move {
            Ok(format!("hello {name}"))
        })
        .register("Order", |ctx: OrchestrationContext, order: String| async move {
            ctx.schedule_activity("Pay", order).await
        })
        .register("Approval", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.schedule_wait("approved").await)
        })
        .register("Loop", |ctx: OrchestrationContext, left: String| async move {
            match left.parse::<u32>() {
                Ok(left) if left > 1 => ctx.continue_as_new((left - 1).to_string()).await,
                _ => Ok("looped".to_owned()),
            }
        })
        .register("Reader", |ctx: OrchestrationContext, _: String| async move {
            Ok(ctx.dequeue_event("orders").await)
        })
        .register("Timer", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_timer(LONG).await;
            Ok(String::new())
        })
        .register("Sleeper", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Sleep", "").await
        })
        .register("Printer", |ctx: OrchestrationContext, _: String| async move {
            let policy = RetryPolicy::new(9).with_backoff(BackoffStrategy::Fixed { delay: LONG });
            ctx.schedule_activity_with_retry("Fail", "", policy).await
        })
        .register("Untyped", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("NoSuchActivity", "").await
        })
        .register("Tagged", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_activity("Sleep", "").with_tag("gpu").await
        })
        .register("Parent", |ctx: OrchestrationContext, _: String| async move {
            ctx.schedule_sub_orchestration_with_id("Approval", "kind-child-1", "").await
        })
        .build()
}
