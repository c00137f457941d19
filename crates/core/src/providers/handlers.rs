//! The code that a node has registered, and the code that a turn or an activity needs.
//!
//! All are compared as *keys*, texts that a store can keep beside a message and sort by.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use semver::Version;

use super::WaitingStart;
use crate::limits::ACTIVITY_KEY_NAME_BYTES_MAX;
use crate::model::WorkItem;

/// Ends the name and the version in a key. No version contains it.
const END: char = '\u{1}';

/// "No version" in very old histories: any version of the name runs them.
pub(crate) const VERSION_NONE: &str = "0.0.0";

/// The code that the next turn of an instance needs.
///
/// - While its execution runs: the name and the version of that execution.
/// - After it continued as new: what the continuation in the queue requests, if it is there.
/// - While the instance is not stored: what the start in the queue requests, if it is there.
/// - Otherwise, and if the instance has ended: none. Its messages are only removed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct NeededCode {
    /// Name of the orchestration.
    pub name: String,
    /// Exact version; `None` leaves the choice to the registry of the node.
    pub version: Option<String>,
}

impl NeededCode {
    /// The key of a turn that needs no code.
    pub const NO_CODE_KEY: &'static str = "\u{1}\u{1}";

    /// The code of a running execution.
    pub fn of_execution(name: &str, version: &str) -> Self {
        Self { name: name.to_owned(), version: Some(version.to_owned()) }
    }

    /// The code that a start or a continuation requests. `None` for other messages, and for a
    /// version that no node can have: any node may fail such a start.
    pub fn of_message(message: &WorkItem) -> Option<Self> {
        let (WorkItem::StartOrchestration { orchestration, version, .. }
        | WorkItem::ContinueAsNew { orchestration, version, .. }) = message
        else {
            return None;
        };
        Self::requested(orchestration, version.as_deref())
    }

    /// The code of this name and version; `None` for a version that no node can have.
    fn requested(name: &str, version: Option<&str>) -> Option<Self> {
        let is_possible = version.is_none_or(|version| Version::parse(version).is_ok());
        is_possible.then(|| Self { name: name.to_owned(), version: version.map(str::to_owned) })
    }

    /// The code that a waiting start requests, like [`of_message`](Self::of_message).
    pub fn of_start(start: &WaitingStart) -> Option<Self> {
        Self::requested(&start.orchestration_name, start.orchestration_version.as_deref())
    }

    /// The code of a key; `None` if it needs none.
    pub fn from_key(key: &str) -> Option<Self> {
        let (name, version) = key.strip_suffix(END)?.rsplit_once(END)?;
        let version = Some(version).filter(|version| !version.is_empty()).map(str::to_owned);
        (key != Self::NO_CODE_KEY).then(|| Self { name: name.to_owned(), version })
    }

    /// The key: the name, the version or nothing, each followed by U+0001.
    pub fn key(&self) -> String {
        key(&self.name, self.version.as_deref().unwrap_or_default())
    }
}

impl fmt::Display for NeededCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.version {
            Some(version) => write!(f, "{} {version}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

fn key(name: &str, version: &str) -> String {
    format!("{name}{END}{version}{END}")
}

/// The orchestrations that a node has registered, in exact versions. Clones share the list.
#[derive(Clone)]
pub struct RegisteredOrchestrations(Arc<Registered>);

struct Registered {
    versions: BTreeMap<String, BTreeSet<Version>>,
    /// Of everything that the node can run.
    keys: BTreeSet<String>,
}

impl RegisteredOrchestrations {
    /// The orchestrations with these names and versions.
    pub fn new<N: Into<String>>(registered: impl IntoIterator<Item = (N, Version)>) -> Self {
        let mut versions = BTreeMap::<String, BTreeSet<Version>>::new();
        for (name, version) in registered {
            versions.entry(name.into()).or_default().insert(version);
        }
        let mut keys = BTreeSet::from([NeededCode::NO_CODE_KEY.to_owned()]);
        for (name, versions) in &versions {
            keys.extend([key(name, ""), key(name, VERSION_NONE)]);
            keys.extend(versions.iter().map(|version| key(name, &version.to_string())));
        }
        Self(Arc::new(Registered { versions, keys }))
    }

    /// Exactly this code: not even turns that need none.
    pub(crate) fn only(code: &NeededCode) -> Self {
        let keys = BTreeSet::from([code.key()]);
        Self(Arc::new(Registered { versions: BTreeMap::new(), keys }))
    }

    /// The versions of each name.
    pub fn versions(&self) -> &BTreeMap<String, BTreeSet<Version>> {
        &self.0.versions
    }

    /// The keys of all turns that the node can run, in bytewise order; one of them is
    /// [`NeededCode::NO_CODE_KEY`], unless the fetch is for turns of one kind.
    pub fn keys(&self) -> &BTreeSet<String> {
        &self.0.keys
    }

    /// Whether the node can run a turn that needs this code.
    pub fn runs(&self, code: Option<&NeededCode>) -> bool {
        match code {
            Some(code) => self.0.keys.contains(&code.key()),
            None => self.0.keys.contains(NeededCode::NO_CODE_KEY),
        }
    }
}

impl PartialEq for RegisteredOrchestrations {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || (self.0.versions == other.0.versions && self.0.keys == other.0.keys)
    }
}

impl Eq for RegisteredOrchestrations {}

impl fmt::Debug for RegisteredOrchestrations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.0.versions).finish()
    }
}

/// The activities that a node has registered. Clones share the list.
#[derive(Clone, PartialEq, Eq)]
pub struct RegisteredActivities(Arc<BTreeSet<String>>);

impl RegisteredActivities {
    /// The key of an activity that any node may lease: its name cannot be read, or has more than
    /// 512 bytes, which is too long for the index of some stores.
    pub const ANY_NODE_KEY: &'static str = "";

    /// The activities with these names.
    pub fn new<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        let for_any_node = std::iter::once(Self::ANY_NODE_KEY.to_owned());
        let keys = names.into_iter().map(|name| Self::key(name.as_ref()));
        Self(Arc::new(keys.chain(for_any_node).collect()))
    }

    /// The key of the activity with this name: the name after `=`.
    pub fn key(name: &str) -> String {
        match name.len() <= ACTIVITY_KEY_NAME_BYTES_MAX {
            true => format!("={name}"),
            false => Self::ANY_NODE_KEY.to_owned(),
        }
    }

    /// The keys of all activities that the node may lease, in bytewise order; one of them is
    /// [`ANY_NODE_KEY`](Self::ANY_NODE_KEY).
    pub fn keys(&self) -> &BTreeSet<String> {
        &self.0
    }

    /// Whether the node may lease this activity.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains(&Self::key(name))
    }
}

impl fmt::Debug for RegisteredActivities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().filter_map(|key| key.strip_prefix('='));
        f.debug_set().entries(names).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(name: &str, version: Option<&str>) -> NeededCode {
        NeededCode { name: name.to_owned(), version: version.map(str::to_owned) }
    }

    #[test]
    fn a_node_runs_exact_versions_and_any_version_if_none_is_requested() {
        let node = RegisteredOrchestrations::new([("order", Version::new(1, 0, 0))]);
        assert!(node.runs(Some(&code("order", Some("1.0.0")))));
        assert!(node.runs(Some(&code("order", None))));
        assert!(node.runs(Some(&code("order", Some(VERSION_NONE)))));
        assert!(node.runs(None));
        assert!(!node.runs(Some(&code("order", Some("2.0.0")))));
        assert!(!node.runs(Some(&code("other", None))));
    }

    #[test]
    fn a_key_names_its_code() {
        for code in [code("a", None), code("a", Some("1.0.0")), code("odd\u{1}name", None)] {
            assert_eq!(NeededCode::from_key(&code.key()), Some(code));
        }
        assert_eq!(NeededCode::from_key(NeededCode::NO_CODE_KEY), None);
    }
}
