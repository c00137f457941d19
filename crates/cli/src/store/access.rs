//! What a command may do to the store.

/// What a command may do to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Read.
    Read,
    /// Read and change instances.
    Write,
    /// Create or migrate the tables as well.
    Migrate,
}
