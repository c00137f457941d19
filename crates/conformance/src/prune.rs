//! Pruning old executions.

use std::time::Duration;

use duroxide_core::providers::{InstanceFilter, PruneOptions, PruneResult};

use crate::ProviderFactory;
use crate::support::{End, Must, Store};

const MOMENT: Duration = Duration::from_millis(100);

/// A store with an instance that has this many executions, the last of them running.
async fn chain<F: ProviderFactory + ?Sized>(store: &Store<'_, F>, instance: &str, length: u64) {
    store.create(instance).await;
    for _ in 1..length {
        store.continue_as_new(instance).await;
    }
}

fn keep_last(count: u32) -> PruneOptions {
    PruneOptions { keep_last: Some(count), ..PruneOptions::default() }
}

async fn prune<F: ProviderFactory + ?Sized>(
    store: &Store<'_, F>,
    instance: &str,
    options: PruneOptions,
) -> PruneResult {
    store.admin().prune_executions(instance, options).await.must("pruning an instance")
}

/// Pruning keeps the requested number of newest executions; without options it keeps only the
/// current one.
pub async fn test_prune_options_combinations<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    chain(&store, "chain", 5).await;
    let pruned = prune(&store, "chain", keep_last(10)).await;
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 0));
    let pruned = prune(&store, "chain", keep_last(2)).await;
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, 3));
    assert_eq!(pruned.events_deleted, 6, "each had two events");
    assert_eq!(store.executions("chain").await, [4, 5]);
    for execution_id in 1..=3 {
        let history = store.provider.read_with_execution("chain", execution_id).await;
        assert_eq!(history.must("reading a pruned execution"), vec![]);
    }
    let pruned = prune(&store, "chain", PruneOptions::default()).await;
    assert_eq!(pruned.executions_deleted, 1);
    assert_eq!(store.executions("chain").await, [5]);
    assert_eq!(store.history("chain").await.len(), 1, "the current execution is unchanged");
}

/// The current execution is never pruned, whether it runs or not.
pub async fn test_prune_safety<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    let options = [PruneOptions::default(), keep_last(0), keep_last(1)];
    for (number, options) in options.into_iter().enumerate() {
        for finished in [false, true] {
            let instance = format!("chain {number} {finished}");
            chain(&store, &instance, 3).await;
            if finished {
                store.complete(&instance, "done").await;
            }
            let before = store.history(&instance).await;
            assert_eq!(prune(&store, &instance, options.clone()).await.executions_deleted, 2);
            assert_eq!(store.executions(&instance).await, [3]);
            assert_eq!(store.history(&instance).await, before);
            assert_eq!(prune(&store, &instance, options.clone()).await.executions_deleted, 0);
        }
    }
    let unknown = store.admin().prune_executions("unknown", PruneOptions::default()).await;
    unknown.must_fail_for_good("pruning an unknown instance");
}

/// Only executions that finished before the given time are pruned. All conditions must hold.
pub async fn test_prune_completed_before<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    chain(&store, "chain", 3).await;
    store.pass(MOMENT).await;
    let cut = store.now_ms();
    store.pass(MOMENT).await;
    store.continue_as_new("chain").await;
    store.continue_as_new("chain").await;
    let before = |time| PruneOptions { completed_before: Some(time), ..PruneOptions::default() };
    assert_eq!(prune(&store, "chain", before(0)).await.executions_deleted, 0);
    let kept = PruneOptions { keep_last: Some(4), ..before(cut) };
    assert_eq!(prune(&store, "chain", kept).await.executions_deleted, 1);
    assert_eq!(store.executions("chain").await, [2, 3, 4, 5], "the last four are kept");
    assert_eq!(prune(&store, "chain", before(cut)).await.executions_deleted, 1);
    assert_eq!(
        store.executions("chain").await,
        [3, 4, 5],
        "execution 3 finished after the given time"
    );
    let info = store.admin().get_execution_info("chain", 3).await.must("info of an execution");
    let completed_at = info.completed_at.expect("the execution has finished");
    assert_eq!(
        prune(&store, "chain", before(completed_at)).await.executions_deleted,
        0,
        "strictly before"
    );
}

/// Only the listed instances are pruned.
pub async fn test_prune_bulk<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["one", "two", "other"] {
        chain(&store, instance, 3).await;
        store.complete(instance, "done").await;
    }
    let filter = |ids: &[&str]| InstanceFilter {
        instance_ids: Some(ids.iter().map(|id| (*id).to_owned()).collect()),
        ..InstanceFilter::default()
    };
    let nothing = store.admin().prune_executions_bulk(filter(&[]), keep_last(1)).await;
    assert_eq!(nothing.must("pruning nothing").instances_processed, 0);
    let listed = filter(&["one", "two", "unknown"]);
    let pruned = store.admin().prune_executions_bulk(listed, keep_last(1)).await;
    let pruned = pruned.must("pruning two instances");
    assert_eq!(pruned.instances_processed, 2);
    assert_eq!((pruned.executions_deleted, pruned.events_deleted), (4, 8));
    assert_eq!(store.executions("one").await, [3]);
    assert_eq!(store.executions("two").await, [3]);
    assert_eq!(store.executions("other").await, [1, 2, 3]);
}

/// Running instances are pruned too, and so are children; their current executions stay.
pub async fn test_prune_bulk_includes_running_instances<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    chain(&store, "running", 3).await;
    chain(&store, "done", 2).await;
    store.complete("done", "done").await;
    store.create_child("child", "running").await;
    store.continue_as_new("child").await;
    let all = InstanceFilter::default();
    let pruned = store.admin().prune_executions_bulk(all, PruneOptions::default()).await;
    let pruned = pruned.must("pruning everything");
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (3, 4));
    assert_eq!(store.executions("running").await, [3]);
    assert_eq!(store.executions("done").await, [2]);
    assert_eq!(store.executions("child").await, [2]);
    store.record("running", vec![]).await;
}

/// The filter's time applies to the completion of the current execution, and its limit counts
/// instances.
pub async fn test_prune_bulk_filter_combinations<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    for instance in ["early", "late", "running"] {
        chain(&store, instance, 2).await;
    }
    store.complete("early", "done").await;
    store.pass(MOMENT).await;
    let cut = store.now_ms();
    store.pass(MOMENT).await;
    store.complete("late", "done").await;
    let old = InstanceFilter { completed_before: Some(cut), ..InstanceFilter::default() };
    let pruned = store.admin().prune_executions_bulk(old, PruneOptions::default()).await;
    assert_eq!(pruned.must("pruning old instances").instances_processed, 1);
    assert_eq!(store.executions("early").await, [2]);
    assert_eq!(store.executions("late").await, [1, 2]);
    assert_eq!(store.executions("running").await, [1, 2]);
    let one = InstanceFilter { limit: Some(1), ..InstanceFilter::default() };
    let pruned = store.admin().prune_executions_bulk(one, PruneOptions::default()).await;
    assert_eq!(pruned.must("pruning one instance").instances_processed, 1);
}

/// A finished execution stays readable until the next one starts.
pub async fn test_prune_between_executions<F: ProviderFactory + ?Sized>(factory: &F) {
    let store = Store::open(factory).await;
    chain(&store, "chain", 2).await;
    store.end_with("chain", End::ContinuedAsNew("next"), vec![]).await;
    store.pass(MOMENT).await;
    let old = InstanceFilter { completed_before: Some(store.now_ms()), ..Default::default() };
    let pruned = store.admin().prune_executions_bulk(old, PruneOptions::default()).await;
    assert_eq!(pruned.must("pruning finished instances").instances_processed, 0, "it runs");
    assert_eq!(prune(&store, "chain", PruneOptions::default()).await.executions_deleted, 1);
    let turn = store.turn_of("chain").await;
    assert_eq!((turn.item.execution_id, turn.item.history.len()), (2, 2));
}

/// The validations of this category.
#[doc(hidden)]
#[macro_export]
macro_rules! __prune {
    ($callback:ident $context:tt) => {
        $crate::$callback! { $context prune
            test_prune_options_combinations needs(management);
            test_prune_safety needs(management);
            test_prune_completed_before needs(management);
            test_prune_bulk needs(management);
            test_prune_bulk_includes_running_instances needs(management);
            test_prune_bulk_filter_combinations needs(management);
            test_prune_between_executions needs(management);
        }
    };
}
