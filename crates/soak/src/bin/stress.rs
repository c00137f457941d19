//! Puts the bundled stores under load and prints their throughput: `cargo xtask stress`.

use std::sync::Arc;

use async_trait::async_trait;
use duroxide::provider_stress_tests::large_payload::{
    LargePayloadConfig, run_large_payload_test_with_config,
};
use duroxide::provider_stress_tests::parallel_orchestrations::{
    ProviderStressFactory, run_parallel_orchestrations_test_with_config,
};
use duroxide::provider_stress_tests::{StressTestConfig, print_comparison_table};
use duroxide::providers::Provider;
use duroxide::providers::sqlite::SqliteProvider;

/// Where the store of a run lives.
enum Place {
    Memory,
    File(tempfile::TempDir),
}

#[async_trait]
impl ProviderStressFactory for Place {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let url = match self {
            Self::Memory => ":memory:".to_owned(),
            Self::File(folder) => {
                let runs = std::fs::read_dir(folder.path()).map_or(0, Iterator::count);
                folder.path().join(format!("stress-{runs}.db")).display().to_string()
            }
        };
        match SqliteProvider::new(&url, None).await {
            Ok(provider) => Arc::new(provider),
            Err(error) => panic!("{url}: {error}"),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds = match std::env::args().nth(1) {
        Some(text) => text.parse().map_err(|error| format!("seconds '{text}': {error}"))?,
        None => 5,
    };
    let places =
        [("sqlite memory", Place::Memory), ("sqlite file", Place::File(tempfile::tempdir()?))];
    let mut results = Vec::new();
    for (provider, place) in &places {
        for (turns, activities) in [(1, 1), (2, 2), (8, 64)] {
            let config = StressTestConfig {
                duration_secs: seconds,
                orch_concurrency: turns,
                worker_concurrency: activities,
                ..StressTestConfig::default()
            };
            let result = run_parallel_orchestrations_test_with_config(place, config).await?;
            results.push(((*provider).to_owned(), format!("fan-out {turns}x{activities}"), result));
        }
        let mut config = LargePayloadConfig::default();
        config.base.duration_secs = seconds;
        let result = run_large_payload_test_with_config(place, config).await?;
        results.push(((*provider).to_owned(), "large payloads 1x1".to_owned(), result));
    }
    print_comparison_table(&results);
    let lost: usize = results.iter().map(|(_, _, result)| result.launched - result.completed).sum();
    if lost > 0 {
        return Err(format!("{lost} instances did not complete").into());
    }
    Ok(())
}
