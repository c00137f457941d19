//! What a rule reports.

use std::fmt;

/// A broken rule at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Violation {
    /// Path from the root of the workspace.
    pub(super) path: String,
    /// Line, from 1.
    pub(super) line: usize,
    /// What is wrong.
    pub(super) what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}
