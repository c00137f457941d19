//! Versions and version policies.

use std::collections::BTreeMap;
use std::sync::Arc;

use semver::Version;

/// The version that a start without an explicit version gets.
#[derive(Clone, Debug)]
pub enum VersionPolicy {
    /// The highest registered version.
    Latest,
    /// Exactly this version. While it is not registered, such starts find no handler.
    Exact(Version),
}

/// Handlers by name and version, ordered so that errors and listings are the same in every run.
pub(super) type Handlers<H> = BTreeMap<String, BTreeMap<Version, Arc<H>>>;

/// Policies by name. A name without a policy uses the highest version.
pub(super) type Policies = BTreeMap<String, VersionPolicy>;

/// The version of a registration without an explicit version.
pub(super) const UNVERSIONED: Version = Version::new(1, 0, 0);
