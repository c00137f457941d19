//! Mistakes in registrations, as values.

use std::fmt;

use semver::Version;
use thiserror::Error;

/// One mistake in the registrations of a [`RegistryBuilder`](super::RegistryBuilder).
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RegistrationMistake {
    /// The name already has a handler for this version. The first one stays.
    #[error("{context}: {name}@{version}")]
    Duplicate {
        /// Which call found the duplicate, for example `duplicate activity registration`.
        context: String,
        /// The name.
        name: String,
        /// The version.
        version: Version,
    },
    /// The name begins with a prefix that the runtime keeps for itself. The handler is left out.
    #[error("activity name '{name}' uses reserved prefix '{prefix}'")]
    ReservedPrefix {
        /// The name.
        name: String,
        /// The reserved prefix.
        prefix: &'static str,
    },
    /// The name is empty. The handler is kept, because 0.1.x accepts it.
    #[error("a handler is registered under an empty name")]
    EmptyName,
    /// The version is not a semantic version. The handler is left out.
    #[error("invalid orchestration version '{version}' for {name}: {reason}")]
    InvalidVersion {
        /// The name.
        name: String,
        /// The text that is not a version.
        version: String,
        /// What the parser says.
        reason: String,
    },
}

/// A registry that has mistakes. `Display` lists all of them, separated by `"; "`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryError {
    mistakes: Vec<RegistrationMistake>,
}

impl RegistryError {
    /// The mistakes as a result: `Ok` if there are none.
    pub(super) fn check(mistakes: &[RegistrationMistake]) -> Result<(), Self> {
        if mistakes.is_empty() { Ok(()) } else { Err(Self { mistakes: mistakes.to_vec() }) }
    }

    /// The mistakes, in the order of the calls.
    pub fn mistakes(&self) -> &[RegistrationMistake] {
        &self.mistakes
    }
}

impl fmt::Display for RegistryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.mistakes.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for RegistryError {}
