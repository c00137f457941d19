//! Key-value state, custom status, and chains of executions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duroxide::OrchestrationContext;
use duroxide::client::{Client, MendPoint, StartRequest};
use duroxide::providers::PruneOptions;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;

use crate::support::{Node, Store, Workshop, options, orchestrations, refusal};

/// Each execution adds its steps to a counter; the third one fails.
async fn counting(ctx: OrchestrationContext, run: String) -> Result<String, String> {
    let run: u64 = run.parse().unwrap();
    for step in 0..2 {
        let count = ctx.get_kv_value_typed::<u64>("count").unwrap().unwrap_or(0);
        ctx.set_kv_value_typed("count", &(count + 1));
        ctx.set_custom_status(format!("run {run} step {step}"));
        ctx.schedule_activity("work", format!("{run}-{step}")).await?;
    }
    if run < 3 {
        return ctx.continue_as_new((run + 1).to_string()).await;
    }
    Ok(ctx.get_kv_value("count").unwrap_or_default())
}

fn code() -> OrchestrationRegistryBuilder {
    orchestrations().register("Counting", counting)
}

on_every_store!(
    the_third_execution_counts_on_from_the_second,
    a_pruned_past_is_refused,
    keys_that_no_one_changed_need_no_past,
    a_fork_has_its_own_keys,
    the_attributes_of_a_start_stay,
);

async fn failed_third(store: &Store, shop: &Workshop) -> Node {
    shop.break_input("3-1", "no");
    let node = Node::start(store, shop, code()).await;
    node.start_instance("i", "Counting", "1").await;
    assert_eq!(node.failure("i").await, "no");
    assert_eq!(node.client.get_kv_value("i", "count").await.unwrap().as_deref(), Some("6"));
    shop.repair();
    node
}

async fn the_third_execution_counts_on_from_the_second(store: Store) {
    let shop = Workshop::default();
    let node = failed_third(&store, &shop).await;
    let plan = node.retry("i").await;
    assert_eq!((plan.execution_id, plan.new_execution_id), (3, 4));
    assert_eq!(plan.keys_restored.as_deref(), Some(&["count".to_owned()][..]));
    assert_eq!(plan.history().kv["count"].value, "4");
    assert_eq!(node.output("i").await, "6");
    // Once more from the start of the execution: its past is that of the one it continues.
    let plan = node.client.reset_instance("i", MendPoint::First, &options()).await.unwrap();
    assert_eq!(plan.history().kv["count"].value, "4");
    assert_eq!(node.output("i").await, "6");
    assert_eq!(node.execution("i").await, 5);
    let checker = duroxide::check::Checker::new(code().build()).with_finished(true);
    checker.check_store(store.as_ref()).await.unwrap().assert_compatible();
    node.stop().await;
}

async fn a_pruned_past_is_refused(store: Store) {
    let shop = Workshop::default();
    let node = failed_third(&store, &shop).await;
    let last = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
    node.client.prune_executions("i", last).await.unwrap();
    let refused = refusal(node.client.retry_instance("i", &options()).await);
    assert!(refused.contains("earlier executions were pruned"), "{refused}");
    assert_eq!(node.execution("i").await, 3, "nothing has changed");
    node.stop().await;
}

async fn keys_that_no_one_changed_need_no_past(store: Store) {
    let shop = Workshop::default();
    shop.break_input("x", "no");
    let code =
        orchestrations().register("Once", |ctx: OrchestrationContext, run: String| async move {
            if run == "1" {
                ctx.set_kv_value("seed", "7");
                return ctx.continue_as_new("2").await;
            }
            let seed = ctx.get_kv_value("seed").unwrap_or_default();
            ctx.schedule_activity("work", "x").await.map(|it| format!("{seed} {it}"))
        });
    let node = Node::start(&store, &shop, code).await;
    node.start_instance("i", "Once", "1").await;
    node.failure("i").await;
    shop.repair();
    let last = PruneOptions { keep_last: Some(1), ..PruneOptions::default() };
    node.client.prune_executions("i", last).await.unwrap();
    let plan = node.retry("i").await;
    assert_eq!((plan.keys_restored.clone(), plan.history().kv["seed"].value.as_str()), (None, "7"));
    assert_eq!(node.output("i").await, "7 x!");
    node.stop().await;
}

/// The keys of a fork are in no history of its own but its marker.
async fn a_fork_has_its_own_keys(store: Store) {
    let shop = Workshop::default();
    let node = failed_third(&store, &shop).await;
    let point = MendPoint::LastFailed;
    node.client.fork_instance("i", "fork", point, &options()).await.unwrap();
    assert_eq!(node.output("fork").await, "6");
    node.client.reset_instance("fork", MendPoint::First, &options()).await.unwrap();
    assert_eq!(node.output("fork").await, "6");
    assert_eq!(node.failure("i").await, "no");
    assert_eq!(node.client.get_kv_value("i", "count").await.unwrap().as_deref(), Some("6"));
    node.stop().await;
}

/// Every execution before was read: to retry one of a thousand took as long as they are.
#[tokio::test]
async fn keys_that_the_execution_before_has_set_need_no_older_one() {
    use duroxide::providers::sqlite::SqliteProvider;
    let statements = Arc::new(AtomicU64::new(0));
    let builder = SqliteProvider::builder("sqlite::memory:");
    let builder = builder.with_statement_counter(Arc::clone(&statements));
    let store: Store = Arc::new(builder.open().await.unwrap());
    let shop = Workshop::default();
    shop.break_input("x", "no");
    let counts = |ctx: OrchestrationContext, runs: String| async move {
        let left: u64 = runs.parse().unwrap();
        let count = ctx.get_kv_value_typed::<u64>("count").unwrap().unwrap_or(0);
        ctx.set_kv_value_typed("count", &(count + 1));
        if left > 0 {
            return ctx.continue_as_new((left - 1).to_string()).await;
        }
        ctx.schedule_activity("work", "x").await?;
        Ok(ctx.get_kv_value("count").unwrap_or_default())
    };
    let node = Node::start(&store, &shop, orchestrations().register("Counts", counts)).await;
    for (instance, runs) in [("few", "3"), ("many", "60")] {
        node.start_instance(instance, "Counts", runs).await;
        node.failure(instance).await;
    }
    shop.repair();
    node.stop().await;
    let client = Client::new(Arc::clone(&store));
    let cost = async |instance: &str| {
        let before = statements.load(Ordering::Relaxed);
        let plan = client.plan_retry(instance, &options()).await.unwrap();
        (plan.history().kv["count"].value.clone(), statements.load(Ordering::Relaxed) - before)
    };
    // The first call prepares what the others use.
    cost("few").await;
    let (few, many) = (cost("few").await, cost("many").await);
    assert_eq!((few.0.as_str(), many.0.as_str()), ("3", "60"));
    assert_eq!(few.1, many.1, "statements");
}

/// They are recorded behind the start, and nothing sends them again.
async fn the_attributes_of_a_start_stay(store: Store) {
    let shop = Workshop::default();
    shop.break_input("x", "no");
    let code =
        orchestrations().register("Order", |ctx: OrchestrationContext, _: String| async move {
            let before = ctx.get_attributes().len();
            ctx.set_attribute("paid", false);
            ctx.schedule_activity("work", "x").await?;
            Ok(format!("{before} {}", ctx.get_attributes().len()))
        });
    let node = Node::start(&store, &shop, code).await;
    let start = StartRequest::new("i", "Order").with_attribute("customer", 42);
    node.client.start_if_new(start).await.unwrap();
    node.failure("i").await;
    shop.repair();
    for point in [MendPoint::Event(1), MendPoint::First] {
        let plan = node.client.reset_instance("i", point, &options()).await.unwrap();
        assert_eq!(plan.kept, 2, "{plan}");
        assert_eq!(node.output("i").await, "1 2");
        let row = node.client.get_instance_row("i").await.unwrap().unwrap();
        assert_eq!(row.attributes.into_keys().collect::<Vec<_>>(), ["customer", "paid"]);
    }
    node.stop().await;
}
