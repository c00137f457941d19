//! What a registry says beside its handlers.

use std::collections::BTreeSet;

use super::needs::Need;

/// What a registry says beside its handlers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Declarations {
    /// Names whose inputs replay does not compare.
    pub(super) inputs_ignored: BTreeSet<String>,
    /// What the registered orchestrations call.
    pub(super) needs: Vec<Need>,
    /// Names whose handlers only other nodes have.
    pub(super) elsewhere: BTreeSet<String>,
}

impl Declarations {
    /// Adds those of another registry.
    pub(super) fn extend(&mut self, other: &Self) {
        self.inputs_ignored.extend(other.inputs_ignored.iter().cloned());
        self.needs.extend(other.needs.iter().cloned());
        self.elsewhere.extend(other.elsewhere.iter().cloned());
    }
}
