//! What an export or an import of many instances is asked for, and what it did.

use crate::query::Filter;
use crate::transfer::RunningInstances;

/// Which instances an export writes.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ExportSelection {
    /// These, parents first.
    Ids(Vec<String>),
    /// Those that a filter selects, oldest first.
    Filter(Filter),
    /// All of the store, oldest first, and then those that only messages wait for: queued starts
    /// and parked messages.
    All,
}

/// What an export of many instances does.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExportRequest {
    /// Which instances.
    pub selection: ExportSelection,
    /// Each selected instance comes with its whole tree: its root and all descendants.
    pub with_trees: bool,
    /// What happens to those that run.
    pub running: RunningInstances,
}

impl ExportRequest {
    /// An export that refuses running instances.
    pub fn new(selection: ExportSelection) -> Self {
        Self { selection, with_trees: false, running: RunningInstances::default() }
    }

    /// An export of one instance.
    pub fn of(instance: impl Into<String>) -> Self {
        Self::new(ExportSelection::Ids(vec![instance.into()]))
    }

    /// Each selected instance comes with its whole tree.
    #[must_use = "returns the changed request"]
    pub fn with_trees(mut self) -> Self {
        self.with_trees = true;
        self
    }

    /// What happens to instances that run.
    #[must_use = "returns the changed request"]
    pub fn with_running(mut self, running: RunningInstances) -> Self {
        self.running = running;
        self
    }
}

/// What an export wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportReport {
    /// Instances.
    pub instances: u64,
    /// Of these, the ones that had not ended.
    pub running: u64,
    /// Events.
    pub events: u64,
    /// Children of exported instances that are not exported themselves, ascending. Their parents
    /// would wait for them in another store.
    pub missing_children: Vec<String>,
    /// More parked messages wait than an export of all reads.
    pub has_more_parked: bool,
}

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// Instances that are stored now.
    pub imported: u64,
    /// Their events.
    pub events: u64,
    /// Instances that existed and were left alone.
    pub skipped: u64,
    /// Instances that lost their parent, because the store does not have it.
    pub without_parent: u64,
    /// Instances that differ from the file, if they were read back.
    pub different: u64,
}
