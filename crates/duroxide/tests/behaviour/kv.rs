//! Key-value state: writes, reads, pruning and limits.

use std::time::Duration;

use duroxide::OrchestrationContext;

use crate::support::{
    DEFAULT_MODE, Mode, NOW_MS, Node, TIMEOUT, activities, count, in_every_mode, kinds,
    memory_with_clock, orchestrations,
};

async fn writes(ctx: OrchestrationContext, _: String) -> Result<String, String> {
    ctx.set_kv_value("b", "1");
    ctx.set_kv_value("a", "");
    ctx.set_kv_value("", "empty key");
    ctx.set_kv_value_typed("list", &[1, 2]);
    assert_eq!(ctx.get_kv_all_keys(), ["", "a", "b", "list"]);
    ctx.schedule_wait("Go").await;
    let number: u32 = ctx.get_kv_value("b").unwrap().parse().unwrap();
    ctx.set_kv_value("b", (number + 1).to_string());
    ctx.clear_kv_value("a");
    let list: Option<Vec<u32>> = ctx.get_kv_value_typed("list")?;
    let bad: Result<Option<Vec<u32>>, String> = ctx.get_kv_value_typed("b");
    Ok(format!("{list:?} {} {}", ctx.get_kv_length(), bad.unwrap_err()))
}

async fn values_are_visible_at_once_and_survive_completion(mode: Mode) {
    let node = Node::start(mode, orchestrations().register("Write", writes), activities()).await;
    node.start_instance("kv", "Write", "").await;
    let live = node.client.wait_for_kv_value("kv", "b", TIMEOUT).await.unwrap();
    assert_eq!(live, "1", "the value of the running execution");
    node.client.raise_event("kv", "Go", "").await.unwrap();
    let output = node.output("kv").await;
    assert!(
        output.starts_with("Some([1, 2]) 3 KV deserialization error for key 'b': "),
        "{output}"
    );
    let values = node.client.get_kv_all_values("kv").await.unwrap();
    assert_eq!(values.len(), 3);
    assert_eq!(values["b"], "2");
    assert_eq!(values[""], "empty key");
    let list: Option<Vec<u32>> = node.client.get_kv_value_typed("kv", "list").await.unwrap();
    assert_eq!(list, Some(vec![1, 2]));
    assert_eq!(node.client.get_kv_value("kv", "a").await.unwrap(), None);
    assert_eq!(node.client.get_kv_value("unknown", "a").await.unwrap(), None);
    assert!(node.client.get_kv_all_values("unknown").await.unwrap().is_empty());
    node.client.delete_instance("kv", false).await.unwrap();
    assert!(node.client.get_kv_all_values("kv").await.unwrap().is_empty());
    node.stop().await;
}

async fn a_counter_survives_turns_and_executions(mode: Mode) {
    async fn counts(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        for _ in 0..3 {
            let number = ctx.get_kv_value("n").map_or(0, |text| text.parse::<u32>().unwrap());
            ctx.set_kv_value("n", (number + 1).to_string());
            ctx.schedule_timer(Duration::ZERO).await;
        }
        match ctx.execution_id() {
            4 => Ok(ctx.get_kv_value("n").unwrap()),
            _earlier => ctx.continue_as_new("").await,
        }
    }
    let node = Node::start(mode, orchestrations().register("Count", counts), activities()).await;
    assert_eq!(node.run("count", "Count", "").await, "12");
    node.stop().await;
}

async fn clearing_all_is_one_event_and_frees_the_keys(mode: Mode) {
    async fn clears(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        for round in 0..3 {
            (0..150).for_each(|key| ctx.set_kv_value(format!("{round}-{key}"), ""));
            ctx.schedule_timer(Duration::ZERO).await;
            ctx.clear_all_kv_values();
        }
        Ok(ctx.get_kv_length().to_string())
    }
    let node = Node::start(mode, orchestrations().register("Clear", clears), activities()).await;
    assert_eq!(node.run("clear", "Clear", "").await, "0");
    assert_eq!(count(&node.history("clear").await, "KeyValuesCleared"), 3);
    assert!(node.client.get_kv_all_values("clear").await.unwrap().is_empty());
    node.stop().await;
}

/// Pruning uses recorded times, so that replay decides the same.
async fn pruning_uses_recorded_times(mode: Mode) {
    async fn prunes(ctx: OrchestrationContext, cut_off: String) -> Result<String, String> {
        ctx.set_kv_value("old", "");
        ctx.schedule_timer(Duration::from_secs(10)).await;
        ctx.set_kv_value("new", "");
        let pruned = ctx.prune_kv_values_updated_before(cut_off.parse().unwrap());
        ctx.schedule_timer(Duration::from_secs(10)).await;
        Ok(format!("{pruned} {:?}", ctx.get_kv_all_keys()))
    }
    let (store, clock) = memory_with_clock().await;
    let registry = orchestrations().register("Prune", prunes);
    let node = Node::on(&store, mode.options(), registry, activities()).await;
    node.start_instance("prune", "Prune", &(NOW_MS + 5_000).to_string()).await;
    for timers in 1..=2 {
        node.wait_for_history("prune", |history| count(history, "TimerCreated") == timers).await;
        clock.advance(Duration::from_secs(10));
    }
    assert_eq!(node.output("prune").await, "1 [\"new\"]");
    node.stop().await;
}

async fn an_activity_reads_values_of_another_instance(mode: Mode) {
    async fn reads(ctx: OrchestrationContext, from: String) -> Result<String, String> {
        let found = ctx.get_kv_value_from_instance(from.as_str(), "b").await?;
        let missing = ctx.get_kv_value_from_instance(from.as_str(), "missing").await?;
        let typed: Option<u32> = ctx.get_kv_value_from_instance_typed(from, "b").await?;
        Ok(format!("{found:?} {missing:?} {typed:?}"))
    }
    let registry = orchestrations().register("Write", writes).register("Read", reads);
    let node = Node::start(mode, registry, activities()).await;
    node.start_instance("kv", "Write", "").await;
    node.wait_for_event("kv", "ExternalSubscribed").await;
    assert_eq!(node.run("read", "Read", "kv").await, "Some(\"1\") None Some(1)");
    assert!(node.client.get_kv_all_values("read").await.unwrap().is_empty(), "isolated");
    node.stop().await;
}

in_every_mode! {
    values_are_visible_at_once_and_survive_completion,
    a_counter_survives_turns_and_executions,
    clearing_all_is_one_event_and_frees_the_keys,
    pruning_uses_recorded_times,
    an_activity_reads_values_of_another_instance,
}

#[tokio::test]
async fn the_key_limit_counts_keys_of_earlier_turns() {
    async fn grows(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        (0..100).for_each(|key| ctx.set_kv_value(format!("first-{key}"), ""));
        ctx.schedule_timer(Duration::ZERO).await;
        (0..100).for_each(|key| ctx.set_kv_value(format!("second-{key}"), ""));
        Ok("too many".to_owned())
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Grow", grows), activities()).await;
    node.start_instance("grow", "Grow", "").await;
    assert_eq!(node.failure_text("grow").await, "KV key count (200) exceeds limit (150)");
    assert_eq!(node.client.get_kv_all_values("grow").await.unwrap().len(), 100);
    node.stop().await;
}

#[tokio::test]
async fn values_survive_failure_and_pruned_executions() {
    async fn fails(ctx: OrchestrationContext, _: String) -> Result<String, String> {
        ctx.set_kv_value(ctx.execution_id().to_string(), "kept");
        match ctx.execution_id() {
            3 => Err("over".to_owned()),
            _earlier => ctx.continue_as_new("").await,
        }
    }
    let node =
        Node::start(DEFAULT_MODE, orchestrations().register("Fail", fails), activities()).await;
    node.start_instance("fail", "Fail", "").await;
    assert_eq!(node.failure_text("fail").await, "over");
    let options = duroxide::PruneOptions { keep_last: Some(1), ..Default::default() };
    let pruned = node.client.prune_executions("fail", options).await.unwrap();
    assert_eq!(pruned.executions_deleted, 2);
    let mut keys: Vec<String> =
        node.client.get_kv_all_values("fail").await.unwrap().into_keys().collect();
    keys.sort();
    assert_eq!(keys, ["1", "2", "3"]);
    let stats = node.client.get_orchestration_stats("fail").await.unwrap().unwrap();
    assert_eq!((stats.kv_user_key_count, stats.kv_total_value_bytes), (3, 12));
    let history = node.history("fail").await;
    assert_eq!(kinds(&history), ["OrchestrationStarted", "KeyValueSet", "OrchestrationFailed"]);
    assert_eq!(stats.history_event_count, 3);
    node.stop().await;
}
