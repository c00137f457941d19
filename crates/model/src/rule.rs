//! The rules of the protocol. A model can leave out one of them.

use crate::{Config, Promise};

/// A rule that store or node keeps. The text says what holds while it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rule {
    /// A fetch passes over an instance with a live lease (`fetch::candidates`).
    ClaimSkipsLeased,
    /// A fetch gets the messages of an expired lease again (`fetch::tag_messages`).
    ClaimTakesExpired,
    /// A fetch leases only executions that the caller can replay (`fetch::fits`).
    ClaimFilters,
    /// The filter is applied in the transaction that leases (`fetch::fetch_turns`).
    FilterWithLease,
    /// Late messages of an instance that has ended go to any node (`fetch::needed_pin`).
    EndedFitsAll,
    /// A renewal names its token, which is gone once another caller claims (`turn_lock::reclaim`).
    RenewNeedsToken,
    /// A commit names the token of the lease (`turn_lock::require_live`).
    CommitNeedsToken,
    /// A commit under an expired lease is refused, claimed or not (`turn_lock::require_live`).
    CommitNeedsLiveLease,
    /// A commit removes only messages that carry its token (`commit::commit_turn`).
    CommitKeepsLater,
    /// A commit removes the messages of its turn (`commit::commit_turn`).
    CommitConsumes,
    /// A commit under a lease ends that lease (`commit::commit_turn`).
    CommitEndsLease,
    /// Events that are stored are not stored again (`history::check_new`).
    EventsAreNew,
    /// A direct turn needs a history that ends at its mark (`direct_turn::follows`).
    DirectNeedsEnd,
    /// A mark names the commit that stored its last event (`HistoryMark::matches_commit`).
    MarkNamesCommit,
    /// A mark names the incarnation of the instance (`fetch::is_held`, `direct_turn::follows`).
    MarkNamesIncarnation,
    /// A direct turn yields to a live lease (`direct_turn::follows`).
    DirectYieldsToLease,
    /// A direct turn yields to a message that waits (`direct_turn::follows`).
    DirectYieldsToMessage,
    /// A direct turn needs the live lease of its activity (`direct_turn::check_leases`).
    DirectNeedsWorkLease,
    /// A refused direct turn changes nothing (`direct_turn::commit_direct_turn`).
    DirectIsAtomic,
    /// A fetch of activities passes over those with a live lease (`worker_queue::fetch_work`).
    WorkClaimSkipsLeased,
    /// A fetch of activities leases only those whose handler the node has.
    WorkClaimFilters,
    /// A result is stored only under the live lease (`worker_queue::finish`).
    FinishNeedsLease,
    /// The activity and its result change places in one transaction (`worker_queue::finish`).
    FinishIsAtomic,
    /// An activity that a commit leases is in the queue, too (`worker_queue::insert_all`).
    LeasedWorkIsQueued,
    /// A commit leases only activities whose handler its node has (`LeasePlan`).
    LeasedWorkFits,
}

impl Rule {
    /// Every rule.
    pub const ALL: &[Self] = &[
        Self::ClaimSkipsLeased,
        Self::ClaimTakesExpired,
        Self::ClaimFilters,
        Self::FilterWithLease,
        Self::EndedFitsAll,
        Self::RenewNeedsToken,
        Self::CommitNeedsToken,
        Self::CommitNeedsLiveLease,
        Self::CommitKeepsLater,
        Self::CommitConsumes,
        Self::CommitEndsLease,
        Self::EventsAreNew,
        Self::DirectNeedsEnd,
        Self::MarkNamesCommit,
        Self::MarkNamesIncarnation,
        Self::DirectYieldsToLease,
        Self::DirectYieldsToMessage,
        Self::DirectNeedsWorkLease,
        Self::DirectIsAtomic,
        Self::WorkClaimSkipsLeased,
        Self::WorkClaimFilters,
        Self::FinishNeedsLease,
        Self::FinishIsAtomic,
        Self::LeasedWorkIsQueued,
        Self::LeasedWorkFits,
    ];

    /// The promise that is broken without this rule.
    pub const fn protects(self) -> Promise {
        match self {
            Self::ClaimSkipsLeased
            | Self::RenewNeedsToken
            | Self::DirectYieldsToLease
            | Self::WorkClaimSkipsLeased => Promise::OneHolder,
            Self::ClaimTakesExpired | Self::EndedFitsAll => Promise::EventuallyCommitted,
            Self::ClaimFilters
            | Self::FilterWithLease
            | Self::WorkClaimFilters
            | Self::LeasedWorkFits => Promise::OnlyWhatItCanRun,
            Self::CommitNeedsToken
            | Self::CommitNeedsLiveLease
            | Self::DirectNeedsWorkLease
            | Self::FinishNeedsLease => Promise::LostLeaseCannotCommit,
            Self::CommitKeepsLater
            | Self::CommitConsumes
            | Self::DirectIsAtomic
            | Self::FinishIsAtomic
            | Self::LeasedWorkIsQueued => Promise::MessagesOnce,
            Self::CommitEndsLease => Promise::OneCommitPerTurn,
            Self::EventsAreNew
            | Self::DirectNeedsEnd
            | Self::MarkNamesCommit
            | Self::MarkNamesIncarnation => Promise::CommitContinuesWhatItRead,
            Self::DirectYieldsToMessage => Promise::WaitingMessagesFirst,
        }
    }

    /// A configuration whose faults can show that the rule is missing.
    pub fn challenge(self) -> Config {
        let config = match self {
            Self::MarkNamesCommit => Config::restored(),
            Self::MarkNamesIncarnation => Config::recreated(),
            Self::ClaimFilters
            | Self::FilterWithLease
            | Self::EndedFitsAll
            | Self::WorkClaimFilters
            | Self::LeasedWorkFits => Config::mixed_cluster(),
            Self::ClaimSkipsLeased
            | Self::ClaimTakesExpired
            | Self::RenewNeedsToken
            | Self::CommitNeedsToken
            | Self::CommitNeedsLiveLease
            | Self::CommitKeepsLater
            | Self::CommitConsumes
            | Self::CommitEndsLease
            | Self::EventsAreNew
            | Self::DirectNeedsEnd
            | Self::DirectYieldsToLease
            | Self::DirectYieldsToMessage
            | Self::DirectNeedsWorkLease
            | Self::DirectIsAtomic
            | Self::WorkClaimSkipsLeased
            | Self::FinishNeedsLease
            | Self::FinishIsAtomic
            | Self::LeasedWorkIsQueued => Config::leases(),
        };
        let without = [Some(self), self.backed_by()].into_iter().flatten().collect();
        Config { without, ..config }
    }

    /// A second rule that prevents the same mistake: only without both is a promise broken.
    pub const fn backed_by(self) -> Option<Self> {
        match self {
            Self::EventsAreNew => Some(Self::DirectNeedsEnd),
            Self::DirectNeedsEnd => Some(Self::EventsAreNew),
            Self::ClaimSkipsLeased
            | Self::ClaimTakesExpired
            | Self::ClaimFilters
            | Self::FilterWithLease
            | Self::EndedFitsAll
            | Self::RenewNeedsToken
            | Self::CommitNeedsToken
            | Self::CommitNeedsLiveLease
            | Self::CommitKeepsLater
            | Self::CommitConsumes
            | Self::CommitEndsLease
            | Self::MarkNamesCommit
            | Self::MarkNamesIncarnation
            | Self::DirectYieldsToLease
            | Self::DirectYieldsToMessage
            | Self::DirectNeedsWorkLease
            | Self::DirectIsAtomic
            | Self::WorkClaimSkipsLeased
            | Self::WorkClaimFilters
            | Self::FinishNeedsLease
            | Self::FinishIsAtomic
            | Self::LeasedWorkIsQueued
            | Self::LeasedWorkFits => None,
        }
    }
}
