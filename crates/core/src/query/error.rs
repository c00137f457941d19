//! Why a text is no filter.

use std::fmt;

/// A text is no filter: where, why, and what would be right.
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::query::Filter;
///
/// let error = Filter::parse("status:failed stauts:done").unwrap_err();
/// assert_eq!(error.position, 14);
/// assert_eq!(
///     error.caret(),
///     "status:failed stauts:done\n              ^^^^^^ there is no key 'stauts'\n\
///      did you mean 'status'? keys are id, name, version, status, parent, created, updated, \
///      ended, duration, executions, custom, error, category, pin, text, attr.<name>"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilterError {
    /// The text.
    pub text: String,
    /// The byte at which the mistake begins.
    pub position: usize,
    /// How many bytes it has.
    pub length: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right; may be empty.
    pub hint: String,
}

impl FilterError {
    /// The text, a line that points to the mistake, and the hint.
    pub fn caret(&self) -> String {
        let (before, rest) = self.text.split_at(self.floor(self.position));
        let marked = &rest[..self.floor(self.position + self.length) - before.len()];
        // Each character takes one place of the line below, line breaks and tabs too.
        let flat = |text: &str| -> String {
            text.chars()
                .map(|character| if character.is_control() { ' ' } else { character })
                .collect()
        };
        let indent = " ".repeat(before.chars().count());
        let carets = "^".repeat(marked.chars().count().max(1));
        let mut out = format!("{}\n{indent}{carets} {}", flat(&self.text), self.message);
        if !self.hint.is_empty() {
            out.push('\n');
            out.push_str(&self.hint);
        }
        out
    }

    /// The last border between characters up to a byte.
    fn floor(&self, byte: usize) -> usize {
        (0..=byte.min(self.text.len()))
            .rev()
            .find(|place| self.text.is_char_boundary(*place))
            .unwrap_or_default()
    }
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { position, message, hint, .. } = self;
        write!(f, "filter, at byte {position}: {message}")?;
        if hint.is_empty() { Ok(()) } else { write!(f, "; {hint}") }
    }
}

impl std::error::Error for FilterError {}
