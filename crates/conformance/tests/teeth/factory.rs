//! Faulty stores for the suite.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_conformance::ProviderFactory;
use duroxide_conformance::reference::ReferenceFactory;
use duroxide_core::providers::Provider;

use crate::fault::Fault;
use crate::provider::FaultyProvider;

/// Creates providers with one fault, or with none.
pub(crate) struct FaultyFactory {
    fault: Option<Fault>,
    reference: ReferenceFactory,
}

impl FaultyFactory {
    pub(crate) fn new(fault: Option<Fault>) -> Self {
        Self { fault, reference: ReferenceFactory::default() }
    }
}

#[async_trait]
impl ProviderFactory for FaultyFactory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let inner = self.reference.create();
        if self.fault == Some(Fault::TurnUnbounded) {
            inner.lift_turn_bounds();
        }
        Arc::new(FaultyProvider::new(inner, self.fault))
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        self.reference.corrupt_instance_history(instance).await;
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        self.reference.get_max_attempt_count(instance).await
    }

    async fn pass_time(&self, by: Duration) {
        self.reference.pass_time(by).await;
    }
}
