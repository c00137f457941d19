//! The kinds of backlog.

/// What waits in front of the node's own work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backlog {
    /// Instances with a ready message, pinned to a version that the node cannot replay.
    ForeignPins,
    /// Messages of one instance that another node has leased.
    LeasedInstance,
    /// Activities of one session that another worker owns.
    ForeignSession,
    /// Messages of instances that do not exist.
    Parked,
}

/// A time that no benchmark reaches: the year 2100.
pub(super) const FAR: i64 = 4_102_444_800_000;

impl Backlog {
    /// The kind of this name.
    pub(crate) fn named(kind: &str) -> Option<Self> {
        Some(match kind {
            "foreign-pins" => Self::ForeignPins,
            "leased-instance" => Self::LeasedInstance,
            "foreign-session" => Self::ForeignSession,
            "parked" => Self::Parked,
            _ => return None,
        })
    }

    /// How many copies of the template it needs.
    pub(crate) fn copies(self, count: i64) -> i64 {
        match self {
            Self::ForeignPins => count,
            Self::LeasedInstance | Self::ForeignSession | Self::Parked => 1,
        }
    }
}
