//! What a backend provides to the suite.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use duroxide_core::providers::{Provider, ProviderCapability};

const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
const SHORT_POLL_THRESHOLD: Duration = Duration::from_millis(100);

/// Creates stores for the suite and changes them directly where the contract has no call.
#[async_trait]
pub trait ProviderFactory: Sync + Send {
    /// A provider on a fresh store.
    async fn create_provider(&self) -> Arc<dyn Provider>;

    /// Length of the leases that expire in validations. Short ones keep the suite fast on a real
    /// clock.
    fn lock_timeout(&self) -> Duration {
        LOCK_TIMEOUT
    }

    /// Longest time that "returns at once" may take.
    fn short_poll_threshold(&self) -> Duration {
        SHORT_POLL_THRESHOLD
    }

    /// Makes every stored event of `instance` undecodable, in the store created last.
    async fn corrupt_instance_history(&self, instance: &str) {
        panic!("this factory cannot corrupt the history of {instance}; see Ability::Corruption");
    }

    /// Highest attempt count among the messages of `instance` in the orchestrator queue of the
    /// store created last.
    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        panic!("this factory cannot read the attempts of {instance}; see Ability::AttemptCounts");
    }

    /// Advances time. A factory whose providers run on a manual clock advances it here, and its
    /// providers return that clock from [`Provider::clock`].
    async fn pass_time(&self, by: Duration) {
        tokio::time::sleep(by).await;
    }

    /// Whether backend and factory have an ability.
    ///
    /// [`run_all_validations`](crate::run_all_validations) skips validations that need a missing
    /// one and reports them as skipped.
    fn can(&self, ability: Ability) -> bool {
        let _everything_unless_said_otherwise = ability;
        true
    }
}

/// Something that a backend or its factory may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ability {
    /// [`ProviderFactory::corrupt_instance_history`] is implemented.
    Corruption,
    /// [`ProviderFactory::get_max_attempt_count`] is implemented.
    AttemptCounts,
    /// The provider has a management side.
    Management,
    /// The provider declares a capability.
    Provider(ProviderCapability),
}

impl Ability {
    /// The word for it in `provider_conformance_tests!(…, without = [word])`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Corruption => "corruption",
            Self::AttemptCounts => "attempt_counts",
            Self::Management => "management",
            Self::Provider(capability) => capability.word(),
        }
    }

    /// Whether a provider has what the ability needs of it.
    pub fn is_met_by(self, provider: &dyn Provider) -> bool {
        match self {
            Self::Corruption | Self::AttemptCounts => true,
            Self::Management => provider.as_management_capability().is_some(),
            Self::Provider(capability) => provider.capabilities().has(capability),
        }
    }
}

impl fmt::Display for Ability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
