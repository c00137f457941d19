//! What a run of the checker explores: nodes, the code of the instance, bounds of the faults.

use crate::Rule;

/// A node: which executions and which activities it can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeKind {
    /// The release of its build, which pins the executions that it starts.
    pub release: u8,
    /// The oldest and the newest release whose executions it replays.
    pub replays: (u8, u8),
    /// Whether it has the handler of the first and of the second activity.
    pub handlers: [bool; 2],
}

impl NodeKind {
    pub(crate) fn replays(&self, pin: u8) -> bool {
        (self.replays.0..=self.replays.1).contains(&pin)
    }

    pub(crate) fn runs(&self, activity: u8) -> bool {
        self.handlers[usize::from(activity)]
    }
}

/// A node of the first release with both handlers.
const OLD: NodeKind = NodeKind { release: 1, replays: (1, 1), handlers: [true, true] };

/// A node of the second release, which replays the first, too.
const NEW: NodeKind = NodeKind { release: 2, replays: (1, 2), handlers: [true, true] };

/// How often each fault may happen in a run. A run in which they are used up is one in which the
/// faults have stopped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Faults {
    /// A live holder is paused for longer than its lease.
    pub expirations: u8,
    /// A node is killed; it may always start again.
    pub crashes: u8,
    /// The store has committed, but the node gets an error.
    pub lost_answers: u8,
    /// A node gives a turn back.
    pub abandons: u8,
    /// An operator's call takes the instance from any holder.
    pub holds: u8,
    /// The store is restored from a backup that was made at any time before.
    pub restores: u8,
    /// The instance is deleted and started again under its id.
    pub recreations: u8,
}

/// One model: the checker explores everything that it allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The nodes.
    pub nodes: [NodeKind; 2],
    /// The code continues as new between its activities, so that the pin may change.
    pub continues: bool,
    /// Commits have ids. Those of earlier releases have none.
    pub commit_ids: bool,
    /// A node of the newer release may leave for good once the instance has ended.
    pub retires: bool,
    /// The faults of a run.
    pub faults: Faults,
    /// The rules that are left out.
    pub without: Vec<Rule>,
}

impl Config {
    /// Equal nodes and every fault of leases: expiry, kill, lost answer, operator.
    pub fn leases() -> Self {
        let faults = Faults {
            expirations: 2,
            crashes: 1,
            lost_answers: 1,
            abandons: 1,
            holds: 1,
            ..Faults::default()
        };
        Self {
            nodes: [NEW, NEW],
            continues: false,
            commit_ids: true,
            retires: false,
            faults,
            without: Vec::new(),
        }
    }

    /// Nodes of two releases, the older without the handler of the second activity. The code
    /// continues as new, so that the second execution may have another pin.
    pub fn mixed_cluster() -> Self {
        let faults = Faults { expirations: 2, crashes: 1, abandons: 1, ..Faults::default() };
        let old = NodeKind { handlers: [true, false], ..OLD };
        Self { nodes: [old, NEW], continues: true, retires: true, faults, ..Self::leases() }
    }

    /// A store that goes back to a backup while nodes keep executions in memory.
    pub fn restored() -> Self {
        let faults = Faults { restores: 1, expirations: 1, ..Faults::default() };
        Self { faults, ..Self::leases() }
    }

    /// An id that is used again while nodes keep the earlier instance in memory. The events have
    /// no commit ids, as those of earlier releases.
    pub fn recreated() -> Self {
        let faults = Faults { recreations: 1, expirations: 1, ..Faults::default() };
        Self { commit_ids: false, faults, ..Self::leases() }
    }

    /// Whether a rule is kept.
    pub(crate) fn keeps(&self, rule: Rule) -> bool {
        !self.without.contains(&rule)
    }
}
