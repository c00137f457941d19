//! The result of a run of the whole suite.

use std::fmt;

use crate::{Ability, Validation};

/// The outcome of one validation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The provider keeps the promise.
    Passed,
    /// The provider breaks the promise; the message of the panic.
    Failed(String),
    /// Not run, because the backend lacks this ability.
    Skipped(Ability),
}

/// The outcomes of all validations. The display is a table of those that did not pass, with the
/// counts.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// In the order of the catalogue.
    pub outcomes: Vec<(Validation, Outcome)>,
}

impl Report {
    /// The validations that failed, with their messages.
    pub fn failures(&self) -> impl Iterator<Item = (&Validation, &str)> {
        self.outcomes.iter().filter_map(|(validation, outcome)| match outcome {
            Outcome::Failed(message) => Some((validation, message.as_str())),
            Outcome::Passed | Outcome::Skipped(_) => None,
        })
    }

    /// Whether nothing failed.
    pub fn passed(&self) -> bool {
        self.failures().next().is_none()
    }

    /// # Panics
    /// With the whole table, if anything failed.
    #[track_caller]
    pub fn assert_passed(&self) {
        assert!(self.passed(), "the provider breaks the contract\n{self}");
    }

    fn count(&self, wanted: impl Fn(&Outcome) -> bool) -> usize {
        self.outcomes.iter().filter(|(_, outcome)| wanted(outcome)).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (validation, outcome) in &self.outcomes {
            let name = format!("{}::{}", validation.category, validation.name);
            match outcome {
                Outcome::Passed => {}
                Outcome::Failed(message) => {
                    // The first line names the broken promise; the table has no room for more.
                    let first = message.lines().next().unwrap_or_default();
                    writeln!(f, "failed   {name:<80} {first}")?;
                }
                Outcome::Skipped(ability) => {
                    writeln!(f, "skipped  {name:<80} needs {ability}")?;
                }
            }
        }
        let passed = self.count(|outcome| matches!(outcome, Outcome::Passed));
        let failed = self.count(|outcome| matches!(outcome, Outcome::Failed(_)));
        let skipped = self.count(|outcome| matches!(outcome, Outcome::Skipped(_)));
        write!(f, "{passed} passed, {failed} failed, {skipped} skipped")
    }
}
