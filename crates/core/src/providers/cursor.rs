//! Where the next page of a list starts.

use std::fmt;

/// A place in a list, behind which the next page starts.
///
/// Only the provider that made the cursor knows what its text means. A store on one server puts a
/// position of its queue into it; a store on several servers merges their lists by the time in
/// each item and puts one position for each server into it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ListCursor(String);

impl ListCursor {
    /// A cursor of this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, to be kept until the next page is wanted.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ListCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
