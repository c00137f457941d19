//! What an export and an import do with instances that need a decision.

/// What an export does with an instance that has not ended and that no operator has suspended.
///
/// One that an operator has suspended is always exported: it takes no turns in the store that it
/// comes from, until it is resumed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RunningInstances {
    /// The export fails at it.
    #[default]
    Refuse,
    /// It is held for the time of its export, so that the copy is exact. It goes on afterwards: for
    /// a store that no node works on any more, or whose copy is never run beside it.
    Hold,
    /// It is read while it runs, and the file says so. Such a copy is for reading: an import
    /// refuses it.
    Snapshot,
}

/// How instances are imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ImportOptions {
    /// An instance that exists is left alone; otherwise the import fails at it.
    pub skip_existing: bool,
    /// The suspensions of operators are left out, so that the instances go on.
    pub resume: bool,
    /// Each instance is read back and compared with what was imported. Nodes that work on the store
    /// meanwhile cause differences.
    pub verify: bool,
}

impl ImportOptions {
    /// An instance that exists is left alone.
    #[must_use = "returns the changed options"]
    pub fn skipping_existing(mut self) -> Self {
        self.skip_existing = true;
        self
    }

    /// The suspensions of operators are left out.
    #[must_use = "returns the changed options"]
    pub fn resuming(mut self) -> Self {
        self.resume = true;
        self
    }

    /// Each instance is read back and compared.
    #[must_use = "returns the changed options"]
    pub fn verifying(mut self) -> Self {
        self.verify = true;
        self
    }
}
