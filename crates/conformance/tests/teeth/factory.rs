//! Faulty stores for the suite, on a clock that is moved.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_conformance::ProviderFactory;
use duroxide_conformance::reference::MemoryProvider;
use duroxide_core::clock::ManualClock;
use duroxide_core::providers::Provider;

use crate::fault::Fault;
use crate::provider::FaultyProvider;

/// Somewhere in 2026, so that times look like times.
const NOW_MS: u64 = 1_790_000_000_000;

/// Makes providers with one fault, or with none.
pub(crate) struct FaultyFactory {
    fault: Option<Fault>,
    clock: Arc<ManualClock>,
    last: Mutex<Option<Arc<MemoryProvider>>>,
}

impl FaultyFactory {
    pub(crate) fn new(fault: Option<Fault>) -> Self {
        Self { fault, clock: Arc::new(ManualClock::new(NOW_MS)), last: Mutex::default() }
    }

    fn last(&self) -> Arc<MemoryProvider> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone().expect("a validation makes a store before it reaches behind it")
    }
}

#[async_trait]
impl ProviderFactory for FaultyFactory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let inner = Arc::new(MemoryProvider::new(Arc::clone(&self.clock) as _));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&inner));
        Arc::new(FaultyProvider::new(inner, self.fault))
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        self.last().corrupt_history(instance);
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        self.last().attempt_count_max(instance)
    }

    async fn pass_time(&self, by: Duration) {
        self.clock.advance(by);
    }
}
