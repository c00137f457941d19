//! The result of a check.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::patches::{self, PatchUse};
use super::verdict::{CheckedExecution, Verdict};
use crate::limits::CHECK_PROBLEMS_MAX;

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Executions that are checked.
    pub executions: u64,
    /// Their events.
    pub events: u64,
    /// Instances of the store; `None` for files, which are read only once.
    pub instances_total: Option<u64>,
}

/// Numbers of executions by their verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct VerdictCounts {
    /// The code agrees.
    pub fine: u64,
    /// The code disagrees.
    pub differs: u64,
    /// The code is not registered.
    pub handler_missing: u64,
    /// The pin is not supported.
    pub version_unsupported: u64,
    /// The history cannot be decoded.
    pub undecodable: u64,
}

/// What a check found out. Its text lists the problems and a summary.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// What was checked.
    pub progress: Progress,
    /// Counts by orchestration and version.
    pub summary: BTreeMap<(String, String), VerdictCounts>,
    /// The patches that running executions use, by orchestration and version, and by their ids.
    /// If finished executions are checked as well, theirs are listed too, but only running ones are
    /// counted.
    pub patches: BTreeMap<(String, String), BTreeMap<String, PatchUse>>,
    /// The first executions that are not fine. The summary counts all of them.
    pub problems: Vec<CheckedExecution>,
    /// Problems that are only counted.
    pub problems_omitted: u64,
    /// How long it took.
    pub elapsed: Duration,
}

impl CheckReport {
    /// Whether every execution is fine.
    pub fn is_compatible(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether a node with this code would break an execution: one that differs, or one that
    /// cannot be decoded although its pin is supported. Other nodes may have missing handlers.
    pub fn breaks_executions(&self) -> bool {
        self.summary.values().any(|counts| counts.differs + counts.undecodable > 0)
    }

    /// Panics with the report unless every execution is fine.
    #[track_caller]
    pub fn assert_compatible(&self) {
        assert!(self.is_compatible(), "the code does not agree with recorded histories\n{self}");
    }

    pub(super) fn add(&mut self, checked: CheckedExecution) {
        self.progress.executions += 1;
        self.progress.events += checked.events as u64;
        let code = (checked.orchestration.clone(), checked.version.clone());
        if let Verdict::Fine(agreement) = &checked.verdict {
            patches::count(&mut self.patches, &code, agreement);
        }
        let counts = self.summary.entry(code).or_default();
        match &checked.verdict {
            Verdict::Fine(_) => counts.fine += 1,
            Verdict::Differs(_) => counts.differs += 1,
            Verdict::HandlerMissing { .. } => counts.handler_missing += 1,
            Verdict::VersionUnsupported { .. } => counts.version_unsupported += 1,
            Verdict::Undecodable { .. } => counts.undecodable += 1,
        }
        match checked.verdict.is_fine() {
            true => {}
            false if self.problems.len() < CHECK_PROBLEMS_MAX => self.problems.push(checked),
            false => self.problems_omitted += 1,
        }
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.problems {
            writeln!(f, "- {problem}")?;
        }
        if self.problems_omitted > 0 {
            writeln!(f, "- and {} more", self.problems_omitted)?;
        }
        let Progress { executions, events, .. } = self.progress;
        write!(f, "checked {executions} executions with {events} events in {:?}", self.elapsed)?;
        for ((name, version), counts) in &self.summary {
            let name = if name.is_empty() { "(unknown)" } else { name };
            write!(f, "\n  {name} {version}: {counts}")?;
        }
        self.write_patches(f)
    }
}

impl VerdictCounts {
    /// Whether the code agrees with all of them.
    pub(super) fn are_all_fine(&self) -> bool {
        *self == Self { fine: self.fine, ..Self::default() }
    }
}

impl fmt::Display for VerdictCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} fine", self.fine)?;
        let problems = [
            (self.differs, "differ"),
            (self.handler_missing, "without handler"),
            (self.version_unsupported, "of an unsupported version"),
            (self.undecodable, "undecodable"),
        ];
        for (count, what) in problems.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}
