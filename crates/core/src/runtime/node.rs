//! What all parts of one runtime share.

use std::sync::Arc;

use super::dispatchers::worker::{Ahead, FinishedWork, Pace, RunningActivities, SessionCount};
use super::lease::{Lease, Leases, NewLease};
use super::slots::Slots;
use super::system_activities::resolve_system_activity;
use super::tasks::Tasks;
use super::warm_cache::WarmCache;
use super::{ActivityHandler, ActivityRegistry, OrchestrationRegistry, RuntimeOptions};
use crate::clock::Clock;
use crate::observability::{MetricsProvider, ObservabilityHandle};
use crate::providers::{DispatcherCapabilityFilter, Provider, SemverRange};

/// One node: a store, what it can run, and what it is running.
pub(crate) struct Node {
    /// The user's provider, measured.
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) orchestrations: OrchestrationRegistry,
    pub(crate) activities: ActivityRegistry,
    pub(crate) options: RuntimeOptions,
    pub(crate) observability: ObservabilityHandle,
    pub(crate) capabilities: DispatcherCapabilityFilter,
    pub(crate) warm: Arc<WarmCache>,
    pub(crate) running: RunningActivities,
    /// Where activities run.
    pub(crate) worker_slots: Slots,
    /// Activities that wait for one of these.
    pub(crate) ahead: Ahead,
    pub(crate) pace: Pace,
    pub(crate) finished: FinishedWork,
    pub(crate) sessions: SessionCount,
    pub(crate) leases: Leases,
    pub(crate) tasks: Tasks,
    /// Tells the nodes of a cluster apart in logs.
    pub(crate) id: String,
    /// Tells them apart where it matters: four digits may meet twice.
    pub(crate) unique_id: String,
}

impl Node {
    pub(crate) fn metrics(&self) -> &MetricsProvider {
        self.observability.metrics_provider()
    }

    /// The code of an activity, ours or the user's.
    pub(crate) fn activity(&self, name: &str) -> Option<Arc<dyn ActivityHandler>> {
        resolve_system_activity(name, &self.clock)
            .or_else(|| self.activities.resolve_handler(name).map(|(_version, handler)| handler))
    }

    /// Keeps a lease of this node alive.
    pub(crate) fn keep(&self, lease: NewLease) -> Lease {
        self.leases.keep(lease, &self.provider, &self.tasks)
    }

    /// Whether turns can go from the end of an activity to the commit without being fetched.
    pub(crate) fn takes_direct_turns(&self) -> bool {
        self.options.warm_cache.enabled && self.provider.takes_direct_turns()
    }

    /// The versions that this node replays, for logs.
    pub(crate) fn supported_range(&self) -> String {
        let ranges = self.capabilities.supported_duroxide_versions.iter();
        let ranges: Vec<String> =
            ranges.map(|range| format!(">={}, <={}", range.min, range.max)).collect();
        ranges.join(" | ")
    }

    /// Name of a slot of the worker dispatcher.
    pub(crate) fn worker_id(&self, slot: usize) -> String {
        format!("work-{slot}-{}", self.options.worker_node_id.as_ref().unwrap_or(&self.id))
    }

    /// Name of the one that fails activities which nobody started in time.
    pub(crate) fn sweeper_id(&self) -> String {
        format!("sweep-{}", self.options.worker_node_id.as_ref().unwrap_or(&self.id))
    }

    /// Name of a slot of the orchestration dispatcher.
    pub(crate) fn orchestrator_id(&self, slot: usize) -> String {
        format!("orch-{slot}-{}", self.id)
    }

    /// Who owns the sessions that this slot takes.
    pub(crate) fn session_owner(&self, slot: usize) -> String {
        match &self.options.worker_node_id {
            Some(owner) => owner.clone(),
            None => format!("work-{slot}-{}", self.unique_id),
        }
    }
}

/// The versions that a node with these options replays.
pub(crate) fn capabilities(options: &RuntimeOptions) -> DispatcherCapabilityFilter {
    let range = options
        .supported_replay_versions
        .clone()
        .unwrap_or_else(SemverRange::default_for_current_build);
    DispatcherCapabilityFilter { supported_duroxide_versions: vec![range] }
}
