//! What this provider can do beyond the methods that every provider has.

use duroxide_core::providers::{ProviderCapabilities, ProviderCapability};

/// Named one by one, so that a later version of the contract does not add to them.
pub(crate) fn all() -> ProviderCapabilities {
    ProviderCapabilities::default()
        .with(ProviderCapability::Waiting)
        .with(ProviderCapability::Watching)
        .with(ProviderCapability::Progress)
        .with(ProviderCapability::StartLimits)
        .with(ProviderCapability::Workers)
        .with(ProviderCapability::WorkLeases)
        .with(ProviderCapability::DirectTurns)
        .with(ProviderCapability::Reclaiming)
        .with(ProviderCapability::LeaseHolders)
        .with(ProviderCapability::MessageIds)
        .with(ProviderCapability::Vouching)
        .with(ProviderCapability::NewStarts)
        .with(ProviderCapability::CodeFilter)
        .with(ProviderCapability::ActivityFilter)
        .with(ProviderCapability::Suspension)
        .with(ProviderCapability::Holding)
        .with(ProviderCapability::InstanceQueues)
        .with(ProviderCapability::Reopening)
        .with(ProviderCapability::BoundedTurns)
        .with(ProviderCapability::Queries)
        .with(ProviderCapability::StartAttributes)
        .with(ProviderCapability::Transfer)
}
