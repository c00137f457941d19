//! Which turns a node runs, as it announces it.

use semver::Version;

use super::{
    DispatcherCapabilityFilter, FetchFilter, NeededCode, RegisteredOrchestrations, SemverRange,
};

/// The turns that a node runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnnouncedTurns {
    /// The version of Duroxide that the node is built with.
    pub build: Version,
    /// The recorded versions that it replays; none if it runs no turns.
    pub replays: Vec<SemverRange>,
    /// The orchestrations that it has registered; none if it runs no turns.
    pub orchestrations: RegisteredOrchestrations,
}

impl AnnouncedTurns {
    /// A node of this build that runs no turns.
    pub fn none(build: Version) -> Self {
        let nothing: [(String, Version); 0] = [];
        Self { build, replays: Vec::new(), orchestrations: RegisteredOrchestrations::new(nothing) }
    }

    /// The recorded versions that it replays.
    #[must_use]
    pub fn with_replays(mut self, replays: Vec<SemverRange>) -> Self {
        self.replays = replays;
        self
    }

    /// The orchestrations that it has registered.
    #[must_use]
    pub fn with_orchestrations(mut self, orchestrations: RegisteredOrchestrations) -> Self {
        self.orchestrations = orchestrations;
        self
    }

    /// The filter with which the node fetches turns that it can run.
    pub fn filter(&self) -> FetchFilter {
        let supported_duroxide_versions = self.replays.clone();
        FetchFilter::everything()
            .with_replays(DispatcherCapabilityFilter { supported_duroxide_versions })
            .with_orchestrations(self.orchestrations.clone())
    }

    /// Whether the node runs turns at all.
    pub fn runs_any(&self) -> bool {
        !self.replays.is_empty()
    }

    /// Whether the node runs the first turn of an instance that needs this code.
    pub fn starts(&self, code: Option<&NeededCode>) -> bool {
        self.runs_any() && self.orchestrations.runs(code)
    }
}
