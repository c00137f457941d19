//! A panic of the store is an error of its operation, and stops no dispatcher.

use std::sync::Arc;
use std::time::Duration;

use duroxide::OrchestrationContext;
use duroxide::providers::Provider;
use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, TagFilter};

use crate::faulty::Faulty;
use crate::support::{
    Mode, Node, activities, in_every_mode, memory, orchestrations, short_backoff,
};

/// All operations that a node calls on its own.
const OPERATIONS: [&str; 13] = [
    "fetch_orchestration_items",
    "fetch_work_items",
    "commit_turn",
    "commit_direct_turn",
    "ack_work_item",
    "abandon_orchestration_item",
    "abandon_work_item",
    "renew_orchestration_item_lock",
    "renew_work_item_lock",
    "renew_session_lock",
    "cleanup_orphaned_sessions",
    "read_start_event",
    "find_lost_work_locks",
];

/// Twice in a row, so that the retry panics as well.
const PANICS: u32 = 2;

fn code() -> OrchestrationRegistryBuilder {
    orchestrations().register("Order", |ctx: OrchestrationContext, _: String| async move {
        let first = ctx.schedule_activity("Step", "1").await?;
        let second = ctx.schedule_activity_on_session("Step", "2", "session").await?;
        // No node has its handler, so it is abandoned until the race is decided.
        let unregistered = ctx.schedule_activity("Unknown", "");
        ctx.select2(unregistered, ctx.schedule_timer(Duration::from_millis(30))).await;
        // Longer than half a lease.
        let third = ctx.schedule_activity("Slow", "3").await?;
        Ok(format!("{first}{second}{third}"))
    })
}

fn steps() -> ActivityRegistryBuilder {
    activities()
        .register("Step", |_: ActivityContext, input: String| async move { Ok(input) })
        .register("Slow", |_: ActivityContext, input: String| async move {
            tokio::time::sleep(Duration::from_millis(350)).await;
            Ok(input)
        })
}

async fn a_panic_of_the_store_stops_no_dispatcher(mode: Mode) {
    let faulty = Faulty::new(memory().await);
    let store: Arc<dyn Provider> = faulty.clone();
    let options = RuntimeOptions {
        worker_lock_timeout: Duration::from_millis(600),
        worker_lock_renewal_buffer: Duration::ZERO,
        orchestrator_lock_timeout: Duration::from_millis(600),
        session_lock_timeout: Duration::from_millis(200),
        session_cleanup_interval: Duration::from_millis(100),
        unregistered_backoff: short_backoff(),
        max_attempts: 1_000_000,
        worker_tag_filter: TagFilter::Any,
        ..mode.options()
    };
    let node = Node::on(&store, options, code(), steps()).await;
    for operation in OPERATIONS {
        faulty.panic(operation, PANICS);
        assert_eq!(node.run(operation, "Order", "").await, "123", "{operation}");
    }
    for operation in ["fetch_orchestration_items", "fetch_work_items", "commit_turn"] {
        assert_eq!(faulty.panics_left(operation), 0, "{operation} was not called");
    }
    node.stop().await;
}

in_every_mode! {
    a_panic_of_the_store_stops_no_dispatcher,
}
