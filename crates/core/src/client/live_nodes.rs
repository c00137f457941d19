//! What the live nodes of a cluster can run, and why they cannot run something.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use semver::Version;

use crate::model::syscall;
use crate::providers::{
    AnnouncedTurns, FetchFilter, LiveWorker, TagFilter, WaitingTurn, WaitingWork,
};

/// Why no live node can run something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum StrandedReason {
    /// No live node replays executions of this version of Duroxide.
    ReplayVersion(Version),
    /// No live node that could run it otherwise has a handler of this name.
    HandlerMissing,
    /// Nodes have the orchestration, but only in these versions.
    HandlerVersionMissing(BTreeSet<Version>),
    /// No live node serves the tag of the activity, or activities without one.
    TagWithoutWorker,
    /// No live node runs turns at all, or activities.
    NoNode,
    /// No node that reports what it runs can run it, but a live node of an older release does not
    /// report that.
    Unknown,
}

impl StrandedReason {
    /// Whether a mistake of the deployment causes it, and no outage.
    pub fn is_mistake(&self) -> bool {
        match self {
            Self::ReplayVersion(_)
            | Self::HandlerMissing
            | Self::HandlerVersionMissing(_)
            | Self::TagWithoutWorker => true,
            Self::NoNode | Self::Unknown => false,
        }
    }

    /// The word for it in metrics.
    pub fn word(&self) -> &'static str {
        match self {
            Self::ReplayVersion(_) => "replay_version",
            Self::HandlerMissing => "handler",
            Self::HandlerVersionMissing(_) => "handler_version",
            Self::TagWithoutWorker => "tag",
            Self::NoNode => "no_node",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for StrandedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReplayVersion(pin) => {
                write!(f, "no live node replays executions of Duroxide {pin}")
            }
            Self::HandlerMissing => f.write_str("no live node has registered it"),
            Self::HandlerVersionMissing(others) => {
                let others: Vec<String> = others.iter().map(ToString::to_string).collect();
                write!(f, "live nodes have registered it only in version {}", others.join(", "))
            }
            Self::TagWithoutWorker => f.write_str("no live node serves its tag"),
            Self::NoNode => f.write_str("no live node runs such work"),
            Self::Unknown => {
                f.write_str("a live node of an older release does not report whether it can run it")
            }
        }
    }
}

/// The live nodes, prepared for many questions.
pub(crate) struct LiveNodes {
    /// The turns of the nodes that run any, each kind of node once.
    turns: Vec<AnnouncedTurns>,
    /// Nodes that do not report which turns they run.
    silent: Vec<String>,
    workers: Vec<LiveWorker>,
}

impl LiveNodes {
    pub(crate) fn new(nodes: Vec<LiveWorker>) -> Self {
        let mut turns: Vec<AnnouncedTurns> = Vec::new();
        let mut silent = Vec::new();
        for node in &nodes {
            match &node.turns {
                Some(announced) if !announced.runs_any() || turns.contains(announced) => {}
                Some(announced) => turns.push(announced.clone()),
                None => silent.push(node.node_id.clone()),
            }
        }
        let accepts_some = |node: &LiveWorker| node.tag_filter != TagFilter::None;
        let workers = nodes.into_iter().filter(accepts_some).collect();
        Self { turns, silent, workers }
    }

    /// Nodes that do not report which turns they run.
    pub(crate) fn silent(&self) -> &[String] {
        &self.silent
    }

    /// What the nodes fetch of turns.
    pub(crate) fn filters(&self) -> Vec<FetchFilter> {
        self.turns.iter().map(AnnouncedTurns::filter).collect()
    }

    /// Why no live node can run a turn; `None` if one can, or if no code is needed.
    pub(crate) fn why_turn(&self, turn: &WaitingTurn) -> Option<StrandedReason> {
        let (code, pin) = (turn.code.as_ref()?, turn.pin.as_ref());
        if self.turns.iter().any(|node| node.filter().allows_turn(Some(code), pin)) {
            return None;
        }
        if !self.silent.is_empty() {
            return Some(StrandedReason::Unknown);
        }
        if self.turns.is_empty() {
            return Some(StrandedReason::NoNode);
        }
        let replays = |node: &&AnnouncedTurns| pin.is_none_or(|pin| node.filter().allows_pin(pin));
        let replaying: Vec<&AnnouncedTurns> = self.turns.iter().filter(replays).collect();
        if let (Some(pin), true) = (pin, replaying.is_empty()) {
            return Some(StrandedReason::ReplayVersion(pin.clone()));
        }
        let registered = replaying.iter().filter_map(|node| {
            let versions: &BTreeMap<_, _> = node.orchestrations.versions();
            versions.get(&code.name)
        });
        let others: BTreeSet<Version> = registered.flatten().cloned().collect();
        Some(match others.is_empty() {
            true => StrandedReason::HandlerMissing,
            false => StrandedReason::HandlerVersionMissing(others),
        })
    }

    /// Who could run the activities of a tag.
    pub(crate) fn serving(&self, tag: Option<&str>) -> Serving<'_> {
        let serving = self.workers.iter().filter(|node| node.tag_filter.matches(tag));
        let mut is_served = false;
        let mut names = HashSet::new();
        for node in serving {
            is_served = true;
            names.extend(node.activities.iter().map(String::as_str));
        }
        Serving { has_workers: !self.workers.is_empty(), is_served, names }
    }
}

/// What the live nodes that serve one tag can run.
pub(crate) struct Serving<'a> {
    has_workers: bool,
    /// Whether a live node serves the tag.
    pub(crate) is_served: bool,
    names: HashSet<&'a str>,
}

impl Serving<'_> {
    /// Why none of the nodes can run an activity.
    pub(crate) fn why(&self, work: &WaitingWork) -> Option<StrandedReason> {
        // Every node has the system's own activities.
        let name = work.activity_name.as_str();
        if !self.has_workers {
            Some(StrandedReason::NoNode)
        } else if !self.is_served {
            Some(StrandedReason::TagWithoutWorker)
        } else if self.names.contains(name) || syscall::is_one(name) {
            None
        } else {
            Some(StrandedReason::HandlerMissing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::{
        ListCursor, NeededCode, RegisteredOrchestrations, ScheduledActivityIdentifier, SemverRange,
    };

    fn node(name: &str, replays: &[u64], code: &[(&str, u64)]) -> LiveWorker {
        let code = code.iter().map(|(name, major)| (*name, Version::new(*major, 0, 0)));
        let ranges = replays
            .iter()
            .map(|major| SemverRange::new(Version::new(*major, 0, 0), Version::new(*major, 9, 0)));
        let turns = AnnouncedTurns::none(Version::new(1, 0, 0))
            .with_replays(ranges.collect())
            .with_orchestrations(RegisteredOrchestrations::new(code));
        LiveWorker::new(name, 0).with_turns(Some(turns))
    }

    fn turn(name: &str, version: &str, pin: Option<u64>) -> WaitingTurn {
        let code = NeededCode::of_execution(name, version);
        WaitingTurn::new("i", 0).with_needs(Some(code), pin.map(|pin| Version::new(pin, 0, 0)))
    }

    #[test]
    fn one_node_needs_both_the_code_and_the_range() {
        let nodes = LiveNodes::new(vec![
            node("old", &[1], &[("A", 1), ("A", 2)]),
            node("new", &[2], &[("B", 1)]),
            node("worker", &[], &[]),
        ]);
        let why = |name, version, pin| nodes.why_turn(&turn(name, version, pin));
        assert_eq!(why("A", "1.0.0", Some(1)), None);
        assert_eq!(why("A", "1.0.0", None), None);
        let versions = BTreeSet::from([Version::new(1, 0, 0), Version::new(2, 0, 0)]);
        let missing = StrandedReason::HandlerVersionMissing(versions);
        assert_eq!(why("A", "3.0.0", Some(1)), Some(missing));
        assert_eq!(why("A", "1.0.0", Some(2)), Some(StrandedReason::HandlerMissing));
        assert_eq!(why("C", "1.0.0", None), Some(StrandedReason::HandlerMissing));
        let three = StrandedReason::ReplayVersion(Version::new(3, 0, 0));
        assert_eq!(why("A", "1.0.0", Some(3)), Some(three));
        assert_eq!(nodes.why_turn(&WaitingTurn::new("ended", 0)), None, "it needs no code");
    }

    #[test]
    fn a_silent_node_may_run_any_turn_and_no_node_is_a_reason_of_its_own() {
        let silent = LiveWorker::new("older", 0);
        let nodes = LiveNodes::new(vec![node("a", &[1], &[("A", 1)]), silent]);
        assert_eq!(nodes.silent(), ["older"]);
        let lost = turn("B", "1.0.0", Some(1));
        assert_eq!(nodes.why_turn(&lost), Some(StrandedReason::Unknown));
        assert_eq!(nodes.why_turn(&turn("A", "1.0.0", Some(1))), None);
        let nodes = LiveNodes::new(vec![node("worker", &[], &[])]);
        assert_eq!(nodes.why_turn(&lost), Some(StrandedReason::NoNode));
    }

    #[test]
    fn an_activity_needs_a_node_that_serves_its_tag_and_has_its_handler() {
        let activity = ScheduledActivityIdentifier {
            instance: "i".to_owned(),
            execution_id: 1,
            activity_id: 2,
        };
        let work = |name: &str| WaitingWork::new(ListCursor::new("1"), activity.clone(), name);
        let accepts = |filter, names: &[&str]| {
            LiveWorker::new("n", 0)
                .with_tag_filter(filter)
                .with_activities(names.iter().map(|name| (*name).to_owned()).collect())
        };
        let nodes = LiveNodes::new(vec![
            accepts(TagFilter::DefaultOnly, &["Mail"]),
            accepts(TagFilter::tags(["gpu"]), &["Resize"]),
            accepts(TagFilter::None, &["Other"]),
        ]);
        let why = |tag, name| nodes.serving(tag).why(&work(name));
        assert_eq!(why(None, "Mail"), None);
        assert_eq!(why(None, "__duroxide_syscall:new_guid"), None);
        assert_eq!(why(None, "Resize"), Some(StrandedReason::HandlerMissing));
        assert_eq!(why(Some("gpu"), "Resize"), None);
        assert_eq!(why(Some("cpu"), "Resize"), Some(StrandedReason::TagWithoutWorker));
        let nobody = LiveNodes::new(vec![accepts(TagFilter::None, &["Mail"])]);
        assert_eq!(nobody.serving(None).why(&work("Mail")), Some(StrandedReason::NoNode));
    }
}
