//! Dropped futures, and the cancellation events ("breadcrumbs") that record them in history.

use std::collections::BTreeSet;

use crate::model::ScheduleKind;

/// Kinds of futures whose drop is recorded, in the order in which a turn writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DropKind {
    Activity,
    SubOrchestration,
    Wait,
    Dequeue,
}

impl DropKind {
    /// `None` for timers: a dropped timer is not recorded.
    pub(crate) fn of(kind: &ScheduleKind) -> Option<Self> {
        match kind {
            ScheduleKind::Activity { .. } => Some(Self::Activity),
            ScheduleKind::SubOrchestration { .. } => Some(Self::SubOrchestration),
            ScheduleKind::ExternalWait { .. } => Some(Self::Wait),
            ScheduleKind::QueueDequeue { .. } => Some(Self::Dequeue),
            ScheduleKind::Timer => None,
        }
    }

    /// The word that the nondeterminism error uses.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Activity => "activities",
            Self::SubOrchestration => "sub-orchestrations",
            Self::Wait => "external waits",
            Self::Dequeue => "persistent waits",
        }
    }
}

/// Pairs drops with breadcrumbs. Either may come first and is kept until the other arrives.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Drops without a breadcrumb.
    unrecorded: BTreeSet<(DropKind, u64)>,
    /// Breadcrumbs whose drop the replayed code has not repeated yet.
    unrepeated: BTreeSet<(DropKind, u64)>,
}

impl Drops {
    /// Notes that the code dropped a future.
    pub(crate) fn note(&mut self, kind: DropKind, schedule_id: u64) {
        if !self.unrepeated.remove(&(kind, schedule_id)) {
            self.unrecorded.insert((kind, schedule_id));
        }
    }

    /// Notes that history holds a breadcrumb.
    pub(crate) fn record(&mut self, kind: DropKind, schedule_id: u64) {
        if !self.unrecorded.remove(&(kind, schedule_id)) {
            self.unrepeated.insert((kind, schedule_id));
        }
    }

    /// Whether the code dropped this future and history has no breadcrumb for it yet.
    pub(crate) fn is_unrecorded(&self, kind: DropKind, schedule_id: u64) -> bool {
        self.unrecorded.contains(&(kind, schedule_id))
    }

    /// Drops without a breadcrumb, grouped by kind, ascending.
    pub(crate) fn unrecorded(&self) -> Vec<(DropKind, u64)> {
        self.unrecorded.iter().copied().collect()
    }

    /// Breadcrumbs whose drop the code did not repeat, grouped by kind.
    pub(crate) fn unrepeated(&self) -> Vec<(DropKind, u64)> {
        self.unrepeated.iter().copied().collect()
    }
}
