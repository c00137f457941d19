//! What a node can run, as one value that fetches and shortcuts compare.

use semver::Version;

use super::{
    DispatcherCapabilityFilter, NeededCode, RegisteredActivities, RegisteredOrchestrations,
    TagFilter,
};

/// What a node can run: which recorded executions it replays, which orchestrations and activities
/// it has registered, and which tags of activities it serves.
///
/// A store applies the filter before it leases anything. A shortcut that answers a fetch without
/// asking the store compares the whole filter with `==`, or asks one of the methods here. The
/// methods take every field apart, so a new field does not compile until each of them decides
/// about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchFilter {
    /// Which recorded executions the node replays; `None` means all.
    pub replays: Option<DispatcherCapabilityFilter>,
    /// Which orchestrations the node has registered; `None` means all. A provider without
    /// [`CodeFilter`](super::ProviderCapability::CodeFilter) ignores it.
    pub orchestrations: Option<RegisteredOrchestrations>,
    /// Which activities the node accepts, by their routing tag.
    pub tags: TagFilter,
    /// Which activities the node has registered; `None` means all. A provider without
    /// [`ActivityFilter`](super::ProviderCapability::ActivityFilter) ignores it.
    pub activities: Option<RegisteredActivities>,
}

static EVERYTHING: FetchFilter = FetchFilter::everything();

impl FetchFilter {
    /// Every execution and every activity.
    pub const fn everything() -> Self {
        Self { replays: None, orchestrations: None, tags: TagFilter::Any, activities: None }
    }

    /// [`everything`](Self::everything), for a request that names no filter.
    pub(super) fn unlimited() -> &'static Self {
        &EVERYTHING
    }

    /// Only executions that `replays` fits.
    #[must_use]
    pub fn with_replays(mut self, replays: DispatcherCapabilityFilter) -> Self {
        self.replays = Some(replays);
        self
    }

    /// Only turns that need no other code than `orchestrations`.
    #[must_use]
    pub fn with_orchestrations(mut self, orchestrations: RegisteredOrchestrations) -> Self {
        self.orchestrations = Some(orchestrations);
        self
    }

    /// Only activities that `tags` matches.
    #[must_use]
    pub fn with_tags(mut self, tags: TagFilter) -> Self {
        self.tags = tags;
        self
    }

    /// Only activities with one of these names.
    #[must_use]
    pub fn with_activities(mut self, activities: RegisteredActivities) -> Self {
        self.activities = Some(activities);
        self
    }

    /// Whether a fetch with this filter may lease a turn at all.
    pub fn allows_some_turn(&self) -> bool {
        let Self { replays, orchestrations: _some_turns_need_none, tags: _, activities: _ } = self;
        replays.as_ref().is_none_or(|replays| !replays.supported_duroxide_versions.is_empty())
    }

    /// Whether the node replays an execution that is pinned to `version`.
    pub fn allows_pin(&self, version: &Version) -> bool {
        let Self { replays, orchestrations: _not_about_pins, tags: _, activities: _ } = self;
        replays.as_ref().is_none_or(|replays| replays.is_compatible(version))
    }

    /// Whether the node has the code that a turn needs; `None` needs none.
    pub fn allows_code(&self, code: Option<&NeededCode>) -> bool {
        let Self { replays: _not_about_code, orchestrations, tags: _, activities: _ } = self;
        orchestrations.as_ref().is_none_or(|orchestrations| orchestrations.runs(code))
    }

    /// Whether a fetch with this filter may lease a turn that needs this code, of an execution
    /// with this pin.
    pub fn allows_turn(&self, code: Option<&NeededCode>, pin: Option<&Version>) -> bool {
        self.allows_some_turn()
            && self.allows_code(code)
            && pin.is_none_or(|pin| self.allows_pin(pin))
    }

    /// Whether a fetch with this filter may lease the first turn of an instance that is not stored
    /// yet, and so has no pin. What it starts is up to [`allows_code`](Self::allows_code).
    pub fn allows_new_instances(&self) -> bool {
        let Self { replays: _no_pin, orchestrations: _, tags: _, activities: _ } = self;
        self.allows_some_turn()
    }

    /// Whether the node serves the tag of an activity and has its handler.
    pub fn allows_activity(&self, tag: Option<&str>, name: &str) -> bool {
        let Self { replays: _of_turns, orchestrations: _of_turns_too, tags, activities } = self;
        tags.matches(tag) && activities.as_ref().is_none_or(|registered| registered.has(name))
    }
}

impl From<Option<&DispatcherCapabilityFilter>> for FetchFilter {
    fn from(replays: Option<&DispatcherCapabilityFilter>) -> Self {
        Self { replays: replays.cloned(), ..Self::everything() }
    }
}

impl From<&TagFilter> for FetchFilter {
    fn from(tags: &TagFilter) -> Self {
        Self { tags: tags.clone(), ..Self::everything() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_equal_if_all_their_parts_are() {
        let everything = FetchFilter::everything();
        assert_eq!(everything, *FetchFilter::unlimited());
        assert_ne!(everything, FetchFilter::from(&TagFilter::DefaultOnly));
        let build = DispatcherCapabilityFilter::default_for_current_build();
        let replays = FetchFilter::from(Some(&build));
        assert_ne!(everything, replays);
        assert_eq!(replays, everything.with_replays(build));
    }

    #[test]
    fn an_activity_needs_its_tag_and_its_handler() {
        let registered = RegisteredActivities::new(["charge"]);
        let filter = FetchFilter::from(&TagFilter::DefaultOnly).with_activities(registered);
        assert!(filter.allows_activity(None, "charge"));
        assert!(!filter.allows_activity(Some("gpu"), "charge"));
        assert!(!filter.allows_activity(None, "refund"));
        assert!(!filter.allows_activity(None, ""));
        assert!(FetchFilter::everything().allows_activity(Some("gpu"), "refund"));
    }

    #[test]
    fn a_filter_without_any_version_allows_no_turn() {
        let nothing = DispatcherCapabilityFilter { supported_duroxide_versions: Vec::new() };
        let filter = FetchFilter::everything().with_replays(nothing);
        assert!(!filter.allows_some_turn() && !filter.allows_new_instances());
        assert!(FetchFilter::everything().allows_new_instances());
    }
}
