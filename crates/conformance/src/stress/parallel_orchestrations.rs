//! Many small instances at the same time.

use std::error::Error;
use std::sync::Arc;

use async_trait::async_trait;
use duroxide_core::providers::Provider;

use super::{
    StressTestConfig, StressTestResult, create_default_activities, create_default_orchestrations,
    run_stress_test,
};

/// Creates the store under test.
#[async_trait]
pub trait ProviderStressFactory: Send + Sync {
    /// A new store.
    async fn create_provider(&self) -> Arc<dyn Provider>;

    /// The default load.
    fn stress_test_config(&self) -> StressTestConfig {
        StressTestConfig::default()
    }
}

/// Runs the factory's own load.
pub async fn run_parallel_orchestrations_test(
    factory: &dyn ProviderStressFactory,
) -> Result<StressTestResult, Box<dyn Error>> {
    run_parallel_orchestrations_test_with_config(factory, factory.stress_test_config()).await
}

/// Runs the given load.
pub async fn run_parallel_orchestrations_test_with_config(
    factory: &dyn ProviderStressFactory,
    config: StressTestConfig,
) -> Result<StressTestResult, Box<dyn Error>> {
    let provider = factory.create_provider().await;
    let activities = create_default_activities(config.activity_delay_ms);
    run_stress_test(config, provider, activities, create_default_orchestrations()).await
}
