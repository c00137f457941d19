//! What the owners of turns and of activities share.

use std::sync::Arc;

use super::background::Background;
use super::handlers::Handlers;
use super::lease::{Lease, Leases, NewLease};
use super::tasks::Tasks;
use super::{RuntimeOptions, UnregisteredWork};
use crate::observability::{MetricsProvider, ObservabilityHandle};
use crate::providers::reports::Reports;
use crate::providers::trouble::TroubleWatch;
use crate::providers::{
    ChangeScope, DispatcherCapabilityFilter, FetchFilter, Provider, SemverRange,
};

/// One node: a store, the code that it can run, and its tasks and leases.
pub(crate) struct Node {
    /// The user's provider, measured.
    pub(crate) provider: Arc<dyn Provider>,
    /// Whether that provider is in trouble.
    pub(crate) trouble: Arc<TroubleWatch>,
    pub(crate) handlers: Handlers,
    pub(crate) options: RuntimeOptions,
    /// What this node can run.
    pub(crate) filter: FetchFilter,
    pub(crate) observability: ObservabilityHandle,
    /// Where it announces what it is about to store and count.
    pub(crate) reports: Reports,
    pub(crate) leases: Leases,
    /// Runs what must go on while user code blocks the executor.
    pub(crate) background: Arc<Background>,
    pub(crate) tasks: Tasks,
    /// Distinguishes the nodes of a cluster in logs. Four digits, so two nodes may share one.
    pub(crate) id: String,
    /// Distinguishes the nodes of a cluster in stored data.
    pub(crate) unique_id: String,
}

impl Node {
    pub(crate) fn metrics(&self) -> &MetricsProvider {
        self.observability.metrics_provider()
    }

    /// How often a message may be fetched before it is poison. While the store is in trouble,
    /// leases are lost without any fault of the work, so that the count proves nothing.
    pub(crate) fn attempts_max(&self) -> u32 {
        match self.trouble.explains_lost_leases() {
            true => u32::MAX,
            false => self.options.max_attempts,
        }
    }

    /// Renews a lease of this node until the returned value is dropped.
    pub(crate) fn keep(&self, lease: NewLease) -> Lease {
        self.leases.keep(lease)
    }
}

/// Where the nodes of a store announce their reports; nowhere if the store cannot notify clients.
pub(crate) fn reports_of(provider: &dyn Provider) -> Reports {
    // A watch of any instance knows the place.
    let watch = provider.watch(ChangeScope::Instance(""));
    watch.and_then(|watch| watch.reports()).unwrap_or_default()
}

/// The recorded versions that a node with these options replays.
pub(super) fn replay_ranges(options: &RuntimeOptions) -> Vec<SemverRange> {
    let range = options
        .supported_replay_versions
        .clone()
        .unwrap_or_else(SemverRange::default_for_current_build);
    let mut ranges = vec![range];
    ranges.extend_from_slice(&options.further_replay_versions);
    ranges
}

/// What a node with these options and handlers can run.
pub(crate) fn fetch_filter(options: &RuntimeOptions, handlers: &Handlers) -> FetchFilter {
    let supported_duroxide_versions = replay_ranges(options);
    let filter = FetchFilter::everything()
        .with_replays(DispatcherCapabilityFilter { supported_duroxide_versions })
        .with_tags(options.worker_tag_filter.clone());
    match options.unregistered_work() {
        UnregisteredWork::Wait => filter
            .with_orchestrations(handlers.registered_orchestrations())
            .with_activities(handlers.registered_activities()),
        UnregisteredWork::Backoff => filter,
    }
}
