//! A decorator that changes nothing passes the whole suite: every call reaches the inner provider.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_conformance::reference::ReferenceFactory;
use duroxide_conformance::{Outcome, ProviderFactory, run_all_validations};
use duroxide_core::providers::Provider;

/// Overrides nothing.
struct Transparent(Arc<dyn Provider>);

#[async_trait]
impl Provider for Transparent {
    fn inner(&self) -> Option<&dyn Provider> {
        Some(self.0.as_ref())
    }

    duroxide_core::forward_provider! { this => this.0 }
}

/// Makes decorated providers of another factory.
#[derive(Default)]
struct Decorated(ReferenceFactory);

#[async_trait]
impl ProviderFactory for Decorated {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        Arc::new(Transparent(self.0.create_provider().await))
    }

    fn lock_timeout(&self) -> Duration {
        self.0.lock_timeout()
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        self.0.corrupt_instance_history(instance).await;
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        self.0.get_max_attempt_count(instance).await
    }

    async fn pass_time(&self, by: Duration) {
        self.0.pass_time(by).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decorator_that_overrides_nothing_passes_every_validation() {
    let report = run_all_validations(&Decorated::default()).await;
    report.assert_passed();
    let skipped = |(_, outcome): &&(_, Outcome)| matches!(outcome, Outcome::Skipped(_));
    assert_eq!(report.outcomes.iter().filter(skipped).count(), 0, "{report}");
}
