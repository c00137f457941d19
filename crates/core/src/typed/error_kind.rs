//! What kind of failure a text reports that no typed function wrote.

use crate::model::error::STRANDED;

/// The text of an activity that its caller stopped waiting for.
pub(crate) const TIMED_OUT: &str = "timeout: activity timed out";

/// Begins the text of a cancelled orchestration; the reason follows.
const CANCELLED: &str = "canceled: ";

/// Begin texts of failures that are not those of the called code.
const INFRASTRUCTURE: &[&str] = &[
    "infrastructure:",
    "nondeterministic",
    "poison: ",
    "orchestration panicked: ",
    "cannot decode the input of ",
    "cannot decode the result of ",
    STRANDED,
];

/// What a text reports.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind<'a> {
    /// The error that the code returned.
    App,
    TimedOut,
    Cancelled {
        reason: &'a str,
    },
    Infrastructure,
}

/// What a text without a typed error reports.
pub(crate) fn kind_of_text(text: &str) -> ErrorKind<'_> {
    if text == TIMED_OUT || is_late_start(text) {
        return ErrorKind::TimedOut;
    }
    if let Some(reason) = text.strip_prefix(CANCELLED) {
        return ErrorKind::Cancelled { reason };
    }
    let is_known = INFRASTRUCTURE.iter().any(|prefix| text.starts_with(prefix));
    if is_known || is_panic(text) { ErrorKind::Infrastructure } else { ErrorKind::App }
}

/// Whether no worker started the activity within its limit.
fn is_late_start(text: &str) -> bool {
    text.starts_with("activity `") && text.contains("` was not started within ")
}

/// Whether the activity panicked.
fn is_panic(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("task ") else { return false };
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    rest == " panicked" || rest.starts_with(" panicked with message ")
}
