//! What a provider can do beyond the methods that every provider has.

use std::fmt;

/// Something that a provider may be able to do.
///
/// The runtime asks for [`StartLimits`](Self::StartLimits), [`DirectTurns`](Self::DirectTurns) and
/// [`Suspension`](Self::Suspension) before it uses their methods; the others have defaults that are
/// safe to call. The conformance suite asks for each before it validates it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProviderCapability {
    /// Fetches wait up to their poll timeout for work.
    Waiting,
    /// [`Provider::watch`](super::Provider::watch) reports changes.
    Watching,
    /// Progress of activities is kept.
    Progress,
    /// [`ScheduledActivity::start_limit`](super::ScheduledActivity::start_limit) is kept, and
    /// [`Provider::fetch_overdue_work`](super::Provider::fetch_overdue_work) finds what is overdue.
    StartLimits,
    /// The management side lists live workers, waiting activities, waiting starts and stranded
    /// turns.
    Workers,
    /// Commits lease activities that they enqueue:
    /// [`ScheduledActivity::lease`](super::ScheduledActivity::lease) is honoured.
    WorkLeases,
    /// [`Provider::commit_direct_turn`](super::Provider::commit_direct_turn) can succeed.
    DirectTurns,
    /// [`Provider::reclaim_work_item_lock`](super::Provider::reclaim_work_item_lock) and the same
    /// for turns extend an expired lease that no other caller has claimed.
    Reclaiming,
    /// [`Provider::add_lease_holder`](super::Provider::add_lease_holder): a fetch extends expired
    /// leases that nodes of its process hold.
    LeaseHolders,
    /// [`Provider::send_message`](super::Provider::send_message) remembers the ids of messages.
    MessageIds,
    /// [`Provider::vouch_for_work_item`](super::Provider::vouch_for_work_item) and
    /// [`Provider::mark_turn_running`](super::Provider::mark_turn_running): the store knows which
    /// lost leases do not count as attempts.
    Vouching,
    /// [`Provider::send_message`](super::Provider::send_message) starts only new instances, also
    /// for two callers at once.
    NewStarts,
    /// Fetches of turns honour [`FetchFilter::orchestrations`](super::FetchFilter::orchestrations).
    CodeFilter,
    /// Fetches of activities honour [`FetchFilter::activities`](super::FetchFilter::activities).
    ActivityFilter,
    /// Instances can be suspended: [`Provider::suspend_turn`](super::Provider::suspend_turn) and
    /// the calls of operators.
    Suspension,
    /// A turn takes a bounded number of messages and of bytes; the others wait for the next turn.
    /// A start and a cancellation do not wait.
    BoundedTurns,
    /// An operator's call can hold an instance and commit a turn of it:
    /// [`ProviderAdmin::hold_instance`](super::ProviderAdmin::hold_instance). A provider that also
    /// lists stranded turns lists those of
    /// [cancelled instances](super::ProviderAdmin::list_cancelled_turns).
    Holding,
    /// The management side reports what the queues hold of one instance:
    /// [`ProviderAdmin::read_instance_queues`](super::ProviderAdmin::read_instance_queues).
    InstanceQueues,
    /// The management side answers queries over instances by itself:
    /// [`ProviderAdmin::query_instances`](super::ProviderAdmin::query_instances). For other
    /// providers the client [lists](super::query_by_listing) all instances.
    Queries,
    /// An operator's call can store an execution:
    /// [`ProviderAdmin::store_execution`](super::ProviderAdmin::store_execution).
    Reopening,
    /// [`ClientMessage::attributes`](super::ClientMessage::attributes) of a start reach its first
    /// turn.
    StartAttributes,
    /// Instances can be carried between stores:
    /// [`ProviderAdmin::read_instance_copy`](super::ProviderAdmin::read_instance_copy) and
    /// [`ProviderAdmin::import_instance`](super::ProviderAdmin::import_instance).
    Transfer,
}

impl ProviderCapability {
    /// Every capability.
    pub const ALL: &'static [Self] = &[
        Self::Waiting,
        Self::Watching,
        Self::Progress,
        Self::StartLimits,
        Self::Workers,
        Self::WorkLeases,
        Self::DirectTurns,
        Self::Reclaiming,
        Self::LeaseHolders,
        Self::MessageIds,
        Self::Vouching,
        Self::NewStarts,
        Self::CodeFilter,
        Self::ActivityFilter,
        Self::Suspension,
        Self::BoundedTurns,
        Self::Holding,
        Self::InstanceQueues,
        Self::Queries,
        Self::Reopening,
        Self::StartAttributes,
        Self::Transfer,
    ];

    /// The word for it in reports and in `provider_conformance_tests!(…, without = [word])`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Watching => "watching",
            Self::Progress => "progress",
            Self::StartLimits => "start_limits",
            Self::Workers => "workers",
            Self::WorkLeases => "work_leases",
            Self::DirectTurns => "direct_turns",
            Self::Reclaiming => "reclaiming",
            Self::LeaseHolders => "lease_holders",
            Self::MessageIds => "message_ids",
            Self::Vouching => "vouching",
            Self::NewStarts => "new_starts",
            Self::CodeFilter => "code_filter",
            Self::ActivityFilter => "activity_filter",
            Self::Suspension => "suspension",
            Self::BoundedTurns => "bounded_turns",
            Self::Holding => "holding",
            Self::InstanceQueues => "instance_queues",
            Self::Queries => "queries",
            Self::Reopening => "reopening",
            Self::StartAttributes => "start_attributes",
            Self::Transfer => "transfer",
        }
    }

    const fn bit(self) -> u32 {
        1 << self as u32
    }
}

impl fmt::Display for ProviderCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The capabilities of a provider; the default is none.
///
/// ```
/// use duroxide_core::providers::{ProviderCapabilities, ProviderCapability};
///
/// let capabilities = ProviderCapabilities::default()
///     .with(ProviderCapability::Waiting)
///     .with(ProviderCapability::Progress);
/// assert!(capabilities.has(ProviderCapability::Progress));
/// assert!(!capabilities.has(ProviderCapability::DirectTurns));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct ProviderCapabilities(u32);

impl ProviderCapabilities {
    /// All that this version of the contract knows, for tests. A provider names its capabilities
    /// one by one, so that it does not claim those that a later version adds.
    pub fn all() -> Self {
        ProviderCapability::ALL.iter().copied().fold(Self::default(), Self::with)
    }

    /// These capabilities and one more.
    #[must_use]
    pub const fn with(self, capability: ProviderCapability) -> Self {
        Self(self.0 | capability.bit())
    }

    /// These capabilities but one.
    #[must_use]
    pub const fn without(self, capability: ProviderCapability) -> Self {
        Self(self.0 & !capability.bit())
    }

    /// Whether the provider has a capability.
    pub const fn has(self, capability: ProviderCapability) -> bool {
        self.0 & capability.bit() != 0
    }
}

impl fmt::Debug for ProviderCapabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = ProviderCapability::ALL.iter().filter(|capability| self.has(**capability));
        f.debug_set().entries(held).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_holds_what_was_added_and_not_removed() {
        let none = ProviderCapabilities::default();
        for &capability in ProviderCapability::ALL {
            assert!(!none.has(capability));
            assert_eq!(none.with(capability).without(capability), none);
            assert!(ProviderCapabilities::all().has(capability));
            let others = ProviderCapabilities::all().without(capability);
            assert!(!others.has(capability));
            assert_eq!(others.with(capability), ProviderCapabilities::all());
        }
    }

    #[test]
    fn a_set_is_shown_by_its_members() {
        let some = ProviderCapabilities::default().with(ProviderCapability::Progress);
        assert_eq!(format!("{some:?}"), "{Progress}");
    }
}
