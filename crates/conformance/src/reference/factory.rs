//! A factory of reference providers on a manual clock.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::clock::ManualClock;
use duroxide_core::providers::Provider;

use super::MemoryProvider;
use crate::ProviderFactory;

/// A time in 2026, so that times are plausible.
const NOW_MS: u64 = 1_790_000_000_000;

/// Creates reference providers whose clock only the suite advances.
#[derive(Debug)]
pub struct ReferenceFactory {
    clock: Arc<ManualClock>,
    last: Mutex<Option<Arc<MemoryProvider>>>,
}

impl Default for ReferenceFactory {
    fn default() -> Self {
        Self { clock: Arc::new(ManualClock::new(NOW_MS)), last: Mutex::default() }
    }
}

impl ReferenceFactory {
    /// A fresh reference provider.
    pub fn create(&self) -> Arc<MemoryProvider> {
        let provider = Arc::new(MemoryProvider::new(Arc::clone(&self.clock) as _));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&provider));
        provider
    }

    fn last(&self) -> Arc<MemoryProvider> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone().expect("a validation makes a store before it reaches behind it")
    }
}

#[async_trait]
impl ProviderFactory for ReferenceFactory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        self.create()
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
