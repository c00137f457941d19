//! Which recorded executions a node can replay.

use semver::Version;

use crate::model::event::build_version;
use crate::model::pins;

/// The version of this build, which new executions are pinned to.
pub fn current_build_version() -> Version {
    Version::parse(build_version()).expect("cargo refuses a package version that is not semver")
}

/// Versions from `min` to `max`, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SemverRange {
    /// Lowest version.
    pub min: Version,
    /// Highest version.
    pub max: Version,
}

impl SemverRange {
    /// A range with both ends included.
    pub fn new(min: Version, max: Version) -> Self {
        Self { min, max }
    }

    /// Whether `version` lies in the range, by semver precedence.
    pub fn contains(&self, version: &Version) -> bool {
        version.cmp_precedence(&self.min).is_ge() && version.cmp_precedence(&self.max).is_le()
    }

    /// From the oldest version whose histories this build can replay to the build itself.
    ///
    /// One range, because providers written for 0.1.x read only the first. The runtime itself
    /// refuses releases of 0.1 after 0.1.32, whose rules it does not know.
    pub fn default_for_current_build() -> Self {
        Self { min: pins::OLDEST, max: current_build_version() }
    }
}

/// What a dispatcher can replay. A provider returns only executions that fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatcherCapabilityFilter {
    /// Ranges; an execution fits if any of them contains its pin. None at all fits nothing.
    pub supported_duroxide_versions: Vec<SemverRange>,
}

impl DispatcherCapabilityFilter {
    /// Whether an execution pinned to `version` fits.
    pub fn is_compatible(&self, version: &Version) -> bool {
        self.supported_duroxide_versions.iter().any(|range| range.contains(version))
    }

    /// The filter of a node that names no ranges.
    pub fn default_for_current_build() -> Self {
        Self { supported_duroxide_versions: vec![SemverRange::default_for_current_build()] }
    }
}
