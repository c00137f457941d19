//! Faults of the kinds of errors.

use duroxide_core::providers::{ProviderError, ProviderErrorKind as Kind};

use crate::fault::Fault;
use crate::provider::FaultyProvider;

impl FaultyProvider {
    /// The result of a commit with the fault applied.
    pub(crate) fn faulty_commit_kind<T>(
        &self,
        result: Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let result = self.without_kind(Fault::ConflictWithoutKind, Kind::Conflict, result);
        self.without_kind(Fault::LostCommitWithoutKind, Kind::LostLease, result)
    }

    /// The result of a deletion with the fault applied.
    pub(crate) fn faulty_deletion_kind<T>(
        &self,
        result: Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let result = self.without_kind(Fault::UnknownWithoutKind, Kind::NotFound, result);
        let result = self.without_kind(Fault::RunningWithoutKind, Kind::StillRunning, result);
        self.without_kind(Fault::ChildWithoutKind, Kind::NotRoot, result)
    }

    /// The result of adding a message with the fault applied.
    pub(crate) fn faulty_enqueue_kind<T>(
        &self,
        result: Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        self.without_kind(Fault::TooLargeWithoutKind, Kind::TooLarge, result)
    }

    /// The result of a call under a lease; the fault strips the kind of a lost lease.
    pub(crate) fn faulty_lease_kind<T>(
        &self,
        fault: Fault,
        result: Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        self.without_kind(fault, Kind::LostLease, result)
    }

    fn without_kind<T>(
        &self,
        fault: Fault,
        kind: Kind,
        result: Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let is_stripped = |error: &ProviderError| self.has(fault) && error.kind == kind;
        result.map_err(|error| match is_stripped(&error) {
            true => error.with_kind(Kind::Other),
            false => error,
        })
    }
}
