//! Dropped futures, and the breadcrumbs that history keeps of them.

use std::collections::BTreeSet;

use crate::model::ScheduleKind;

/// Kinds whose dropping is recorded, in the order in which a turn writes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DropKind {
    Activity,
    SubOrchestration,
    Wait,
    Dequeue,
}

impl DropKind {
    /// `None` for timers: dropping one has no effect.
    pub(crate) fn of(kind: &ScheduleKind) -> Option<Self> {
        match kind {
            ScheduleKind::Activity { .. } => Some(Self::Activity),
            ScheduleKind::SubOrchestration { .. } => Some(Self::SubOrchestration),
            ScheduleKind::ExternalWait { .. } => Some(Self::Wait),
            ScheduleKind::QueueDequeue { .. } => Some(Self::Dequeue),
            ScheduleKind::Timer => None,
        }
    }

    /// The word of the nondeterminism text.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::Activity => "activities",
            Self::SubOrchestration => "sub-orchestrations",
            Self::Wait => "external waits",
            Self::Dequeue => "persistent waits",
        }
    }
}

/// Pairs drops with breadcrumbs: each side waits for the other, whichever comes first.
#[derive(Debug, Default)]
pub(crate) struct Drops {
    /// Dropped, and no breadcrumb yet.
    unrecorded: BTreeSet<(DropKind, u64)>,
    /// Recorded, and not dropped yet by the code that is being replayed.
    unrepeated: BTreeSet<(DropKind, u64)>,
}

impl Drops {
    /// The code dropped a future.
    pub(crate) fn note(&mut self, kind: DropKind, schedule_id: u64) {
        if !self.unrepeated.remove(&(kind, schedule_id)) {
            self.unrecorded.insert((kind, schedule_id));
        }
    }

    /// History holds a breadcrumb.
    pub(crate) fn record(&mut self, kind: DropKind, schedule_id: u64) {
        if !self.unrecorded.remove(&(kind, schedule_id)) {
            self.unrepeated.insert((kind, schedule_id));
        }
    }

    /// Whether the code dropped this and history does not say so yet.
    pub(crate) fn is_unrecorded(&self, kind: DropKind, schedule_id: u64) -> bool {
        self.unrecorded.contains(&(kind, schedule_id))
    }

    /// Drops without breadcrumb, grouped by kind, ascending.
    pub(crate) fn unrecorded(&self) -> Vec<(DropKind, u64)> {
        self.unrecorded.iter().copied().collect()
    }

    /// Breadcrumbs that the code did not repeat, grouped by kind.
    pub(crate) fn unrepeated(&self) -> Vec<(DropKind, u64)> {
        self.unrepeated.iter().copied().collect()
    }
}
