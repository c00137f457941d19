//! What the turns of one node share.

use std::sync::Arc;

use tokio::sync::Mutex;

use super::{BlockedCode, CommitIds, HistoryRoom, WarmCache};
use crate::runtime::node::Node;
use crate::runtime::start_facts::KnownStarts;

/// The owner of turns.
pub(crate) struct Turns {
    pub(crate) node: Arc<Node>,
    pub(crate) warm: Arc<WarmCache>,
    pub(crate) history_room: HistoryRoom,
    pub(crate) commit_ids: CommitIds,
    pub(crate) blocked_code: BlockedCode,
    /// Held by the turn that runs on trial.
    pub(crate) on_trial: Arc<Mutex<()>>,
}

impl Turns {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        let warm = Arc::new(WarmCache::new(node.options.warm_cache.clone()));
        let (history_room, commit_ids) = (HistoryRoom::new(), CommitIds::new());
        let (blocked_code, on_trial) = (BlockedCode::default(), Arc::default());
        Self { node, warm, history_room, commit_ids, blocked_code, on_trial }
    }

    /// What activities may know of the instances that scheduled them.
    pub(crate) fn known_starts(&self) -> Arc<dyn KnownStarts> {
        Arc::clone(&self.warm) as _
    }

    /// The versions that this node replays, for logs.
    pub(crate) fn supported_range(&self) -> String {
        let ranges = self.node.filter.replays.iter().flat_map(|it| &it.supported_duroxide_versions);
        let ranges: Vec<String> =
            ranges.map(|range| format!(">={}, <={}", range.min, range.max)).collect();
        ranges.join(" | ")
    }

    /// The name of a slot of the orchestration dispatcher.
    pub(crate) fn orchestrator_id(&self, slot: usize) -> String {
        format!("orch-{slot}-{}", self.node.id)
    }
}
