//! What is measured, and that nothing is changed.

use super::*;
use crate::observability::seen::Seen;
use crate::providers::fake::{FAKE_NOW_MS, FakeProvider};
use crate::providers::{ChangeScope, ProviderErrorKind};
use crate::runtime::ObservabilityConfig;

fn instrumented(inner: Arc<FakeProvider>) -> (InstrumentedProvider, Arc<MetricsProvider>) {
    let metrics = Arc::new(MetricsProvider::new(&ObservabilityConfig::default()).unwrap());
    (InstrumentedProvider::new(inner, Some(Arc::clone(&metrics))), metrics)
}

#[tokio::test]
async fn answers_and_extensions_are_those_of_the_inner_provider() {
    let inner = FakeProvider::watching();
    inner.record_start("a");
    let (provider, _metrics) = instrumented(Arc::clone(&inner));
    assert_eq!(provider.name(), "fake");
    assert_eq!(provider.clock().now_ms(), FAKE_NOW_MS);
    assert!(provider.watch(ChangeScope::Instance("a")).is_some());
    assert!(provider.as_management_capability().is_none());
    assert_eq!(provider.read_outcome("a").await.unwrap(), InstanceOutcome::Running);
    assert!(provider.read_start_event("a").await.unwrap().is_some());
    assert_eq!(provider.read("a").await.unwrap().len(), 1);
}

#[test]
fn the_error_type_of_a_failed_operation_is_the_kind_of_its_error() {
    let inner = FakeProvider::watching();
    let busy = ProviderError::retryable("read", "locked").with_kind(ProviderErrorKind::Busy);
    inner.state().read_error = Some(busy);
    let (provider, _metrics) = instrumented(inner);
    let seen = Seen::default();
    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
    metrics::with_local_recorder(&seen, || executor.block_on(provider.read("a"))).unwrap_err();
    assert_eq!(seen.value("duroxide_provider_errors_total{operation=read,error_type=busy}"), 1.0);
}

#[tokio::test]
async fn errors_of_measured_operations_are_counted_once_and_handed_on() {
    let inner = FakeProvider::watching();
    inner.state().read_error = Some(ProviderError::retryable("read", "busy"));
    let (provider, metrics) = instrumented(Arc::clone(&inner));
    let error = provider.read_outcome("a").await.unwrap_err();
    assert_eq!(error, ProviderError::retryable("read", "busy"));
    assert_eq!(metrics.snapshot().provider_errors, 1);
}

#[tokio::test]
async fn errors_of_other_operations_are_not_counted() {
    let (provider, metrics) = instrumented(FakeProvider::watching());
    provider.abandon_work_item("token", None, false).await.unwrap_err();
    assert_eq!(metrics.snapshot().provider_errors, 0);
}

#[tokio::test]
async fn without_metrics_calls_are_only_handed_on() {
    let provider = InstrumentedProvider::new(FakeProvider::watching(), None);
    assert!(provider.read("a").await.unwrap().is_empty());
}
