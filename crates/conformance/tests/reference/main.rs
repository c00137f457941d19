//! The reference provider keeps the whole contract.

use duroxide_conformance::reference::ReferenceFactory;
use duroxide_conformance::stress::parallel_orchestrations::{
    ProviderStressFactory, run_parallel_orchestrations_test_with_config,
};
use duroxide_conformance::stress::{StressTestConfig, comparison_table};
use duroxide_conformance::{provider_conformance_tests, reference::MemoryProvider};
use duroxide_core::providers::Provider;
use std::sync::Arc;

provider_conformance_tests!(ReferenceFactory::default());

struct InMemory;

#[async_trait::async_trait]
impl ProviderStressFactory for InMemory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        Arc::new(MemoryProvider::default())
    }
}

#[tokio::test]
async fn every_instance_completes_under_load() {
    let config = StressTestConfig {
        duration_secs: 1,
        activity_delay_ms: 0,
        orch_concurrency: 4,
        worker_concurrency: 16,
        ..StressTestConfig::default()
    };
    let result = run_parallel_orchestrations_test_with_config(&InMemory, config)
        .await
        .expect("a load that runs");
    assert!(result.launched > 0);
    assert_eq!((result.completed, result.failed), (result.launched, 0));
    let table = comparison_table(&[("reference".to_owned(), "fan-out".to_owned(), result)]);
    assert!(table.contains("100.00%"), "{table}");
}
