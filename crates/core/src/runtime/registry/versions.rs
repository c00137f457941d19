//! The versions of one name.

use std::collections::BTreeMap;
use std::sync::Arc;

use semver::Version;

/// Which version a start without an explicit one gets.
#[derive(Clone, Debug)]
pub enum VersionPolicy {
    /// The highest.
    Latest,
    /// This one.
    Exact(Version),
}

/// Handlers by name and version. Ordered, so that errors and listings do not vary between runs.
pub(super) type Handlers<H> = BTreeMap<String, BTreeMap<Version, Arc<H>>>;

/// Policies by name; a name without one gets the highest version.
pub(super) type Policies = BTreeMap<String, VersionPolicy>;

/// The version that unversioned registrations get.
pub(super) const UNVERSIONED: Version = Version::new(1, 0, 0);
