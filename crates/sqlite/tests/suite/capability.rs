//! Which executions a node may fetch.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::providers::{
    DispatcherCapabilityFilter, ExecutionMetadata, FetchFilter, Provider, ProviderAdmin,
    SemverRange,
};
use duroxide_sqlite::SqliteProvider;

use crate::support::*;

fn pinned(version: &str) -> ExecutionMetadata {
    ExecutionMetadata { pinned_duroxide_version: Some(version.parse().unwrap()), ..named() }
}

fn filter(ranges: &[(&str, &str)]) -> DispatcherCapabilityFilter {
    DispatcherCapabilityFilter {
        supported_duroxide_versions: ranges
            .iter()
            .map(|(min, max)| SemverRange::new(min.parse().unwrap(), max.parse().unwrap()))
            .collect(),
    }
}

/// What a node with these ranges fetches, out of one instance per version.
async fn given(versions: &[&str], ranges: &[(&str, &str)]) -> Vec<String> {
    let store = Store::new().await;
    let provider = &*store.provider;
    for version in versions {
        create_with(provider, version, pinned(version)).await;
    }
    for version in versions {
        provider.enqueue_for_orchestrator(signal(version, "x"), None).await.unwrap();
    }
    let filter = filter(ranges);
    let filter = FetchFilter::from(Some(&filter));
    let fetch = wish(50).with_filter(&filter);
    let turns = provider.fetch_orchestration_items(fetch).await.unwrap();
    turns.into_iter().map(|turn| turn.item.instance).collect()
}

#[tokio::test]
async fn every_range_counts() {
    let versions = ["0.9.0", "1.0.0", "1.5.0", "2.0.0", "2.5.0"];
    let ranges = [("1.0.0", "1.9.9"), ("2.5.0", "3.0.0")];
    assert_eq!(given(&versions, &ranges).await, ["1.0.0", "1.5.0", "2.5.0"]);
}

#[tokio::test]
async fn a_filter_without_ranges_matches_nothing() {
    assert!(given(&["1.0.0"], &[]).await.is_empty());
}

#[tokio::test]
async fn versions_compare_as_semver_compares_them() {
    let versions = ["1.0.0-alpha.1", "1.0.0-alpha.10", "1.0.0-beta", "1.0.0", "1.0.1-rc.1"];
    let ranges = [("1.0.0-alpha.2", "1.0.0")];
    assert_eq!(given(&versions, &ranges).await, ["1.0.0-alpha.10", "1.0.0-beta", "1.0.0"]);
    let versions = ["0.1.1000", "0.1.2000000", "0.2.0"];
    let ranges = [("0.1.999", "0.1.18446744073709551615")];
    assert_eq!(given(&versions, &ranges).await, ["0.1.1000", "0.1.2000000"]);
}

#[tokio::test]
async fn an_execution_outside_the_filter_is_neither_leased_nor_counted_nor_read() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create_with(provider, "new", pinned("9.0.0")).await;
    provider.enqueue_for_orchestrator(signal("new", "x"), None).await.unwrap();
    store.sql().execute("UPDATE history SET event_data = 'broken'", []).unwrap();
    let old = filter(&[("0.0.0", "1.0.0")]);
    let fetched = provider.fetch_orchestration_item(LEASE, NOW, Some(&old)).await;
    assert!(fetched.unwrap().is_none());
    let turn = turn(provider).await;
    assert!(turn.item.history_error.is_some());
    assert_eq!(turn.attempt_count, 1);
}

#[tokio::test]
async fn an_execution_without_a_pin_matches_any_filter_and_can_be_pinned_later() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create(provider, "a").await;
    let old = filter(&[("0.0.0", "1.0.0")]);
    provider.enqueue_for_orchestrator(signal("a", "x"), None).await.unwrap();
    let (_, token, _) =
        provider.fetch_orchestration_item(LEASE, NOW, Some(&old)).await.unwrap().unwrap();
    provider
        .ack_orchestration_item(&token, 1, vec![], vec![], vec![], pinned("2.0.0"), vec![])
        .await
        .unwrap();
    provider.enqueue_for_orchestrator(signal("a", "y"), None).await.unwrap();
    let fetched = provider.fetch_orchestration_item(LEASE, NOW, Some(&old)).await.unwrap();
    assert!(fetched.is_none());
    let spread = provider.get_running_duroxide_version_spread().await.unwrap();
    assert_eq!(spread.into_iter().collect::<Vec<_>>(), [("2.0.0".to_owned(), 1)]);
}

#[tokio::test]
async fn an_expired_lease_is_filtered_as_well() {
    let store = Store::new().await;
    let provider = &*store.provider;
    create_with(provider, "new", pinned("9.0.0")).await;
    provider.enqueue_for_orchestrator(signal("new", "x"), None).await.unwrap();
    turn(provider).await;
    store.clock.advance(LEASE + Duration::from_millis(1));
    let old = filter(&[("0.0.0", "1.0.0")]);
    let fetched = provider.fetch_orchestration_item(LEASE, NOW, Some(&old)).await.unwrap();
    assert!(fetched.is_none());
    assert_eq!(turn(provider).await.attempt_count, 2);
}

/// A provider that counts with the default of the contract.
struct Plain(Arc<SqliteProvider>);

#[async_trait]
impl ProviderAdmin for Plain {
    duroxide_core::forward_provider_admin! { this => this.0;
        list_instances, list_instances_by_status, list_executions, read_history_with_execution_id,
        read_history, latest_execution_id, get_instance_info, get_execution_info,
        get_system_metrics, get_queue_depths, list_children, get_parent_id,
        delete_instances_atomic, delete_instance_bulk, prune_executions, prune_executions_bulk,
    }
}

#[tokio::test]
async fn the_default_of_the_contract_counts_the_same_handlers() {
    let store = Store::new().await;
    let provider = &*store.provider;
    let code = |name: &str, version: &str, status: Option<&str>| ExecutionMetadata {
        orchestration_name: Some(name.to_owned()),
        orchestration_version: Some(version.to_owned()),
        status: status.map(str::to_owned),
        ..ExecutionMetadata::default()
    };
    create_with(provider, "a", code("Order", "1.0.0", None)).await;
    create_with(provider, "b", code("Order", "2.0.0", None)).await;
    create_with(provider, "c", code("Order", "2.0.0", None)).await;
    create_with(provider, "d", code("Order", "2.0.0", Some("Completed"))).await;
    // Its next execution is not queued, so that it does not run.
    create_with(provider, "e", code("Lost", "1.0.0", Some("ContinuedAsNew"))).await;
    let spread = provider.get_running_handler_version_spread().await.unwrap();
    let plain = Plain(Arc::clone(&store.provider));
    assert_eq!(plain.get_running_handler_version_spread().await.unwrap(), spread);
    let versions = [("1.0.0".to_owned(), 1), ("2.0.0".to_owned(), 2)];
    assert_eq!(spread, BTreeMap::from([("Order".to_owned(), BTreeMap::from(versions))]));
}
