//! Why a store cannot be opened, and what to do.

use crate::failure::Failure;

/// Why a store cannot be opened.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no such file, or it holds no tables of Duroxide.
    Missing { place: String, is_file_missing: bool },
    /// The tables are older than this command.
    Older { place: String, found: i64, known: i64 },
    /// The functions of this build are missing in a database; those of other builds stay.
    FunctionsMissing { place: String, version: String },
    /// Anything else; the text says what to do.
    Other(String),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::error(match refusal {
            Refusal::Missing { place, is_file_missing: true } => format!(
                "there is no file '{place}': check the path (`duroxide store migrate --create` \
                 makes a new store)"
            ),
            Refusal::Missing { place, is_file_missing: false } => format!(
                "{place} holds no store: check the name (`duroxide store migrate --create` makes \
                 a new store there)"
            ),
            Refusal::Older { place, found, known } => format!(
                "{place} has schema version {found}, and this command needs {known}: run `duroxide \
                 store migrate`"
            ),
            Refusal::FunctionsMissing { place, version } => format!(
                "{place} lacks version {version} of the functions, which this command calls: run \
                 `duroxide store migrate`"
            ),
            Refusal::Other(text) => text,
        })
    }
}

/// An error with its causes, in one line.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let detail = error.to_string();
        if !text.contains(&detail) {
            text = format!("{text}: {detail}");
        }
        cause = error.source();
    }
    text
}
