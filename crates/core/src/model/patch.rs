//! Patch markers: which changes of its code an execution has adopted.
//!
//! A marker is stored as a signal with a reserved name, not as a kind of event of its own. Every
//! release since 0.1.0 decodes such an event and replays it without effect, so that a marker needs
//! no pin, adds nothing to the stored format, and also fits into an execution that an older release
//! started. Replay does not match markers with calls: it only looks whether there is one. So code
//! that no longer asks for a patch replays the histories that contain it.

use super::edit::EDITED;
use super::mended::{HELD_SIGNAL, MENDED};
use super::{Event, EventKind, syscall};

/// Name of the signal that records a call of `patched`.
pub(crate) const PATCHED: &str = "__duroxide_syscall:patched";

/// Name of the signal that records a call of `deprecate_patch`.
pub(crate) const DEPRECATED: &str = "__duroxide_syscall:patch_deprecated";

/// The record of a change of the code that an execution has adopted.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::{Event, PatchMarker};
///
/// /// The patches that a history contains.
/// fn patches(history: &[Event]) -> Vec<&str> {
///     history.iter().filter_map(PatchMarker::of).map(|marker| marker.id).collect()
/// }
/// assert!(patches(&[]).is_empty());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatchMarker<'a> {
    /// The id that the code gave to the change.
    pub id: &'a str,
    /// Recorded by `deprecate_patch`: the code has no old branch any more.
    pub deprecated: bool,
}

impl<'a> PatchMarker<'a> {
    /// The marker that an event records, if it records one.
    pub fn of(event: &'a Event) -> Option<Self> {
        Self::of_kind(&event.kind)
    }

    pub(crate) fn of_kind(kind: &'a EventKind) -> Option<Self> {
        let EventKind::ExternalEvent { name, data } = kind else { return None };
        let deprecated = match name.as_str() {
            PATCHED => false,
            DEPRECATED => true,
            _another_signal => return None,
        };
        Some(Self { id: data, deprecated })
    }

    pub(crate) fn to_kind(self) -> EventKind {
        let name = if self.deprecated { DEPRECATED } else { PATCHED };
        EventKind::ExternalEvent { name: name.to_owned(), data: self.id.to_owned() }
    }
}

/// What a patch is for one execution, as far as its code has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PatchState {
    /// `patched` returned `true`: the execution runs the new code.
    New,
    /// `patched` returned `false`: the execution needs the old code.
    Old,
    /// The code calls `deprecate_patch`; it has no old code any more.
    Deprecated,
    /// History contains the marker, and the code has not called for it.
    Uncalled,
}

/// Whether a signal has a name that only markers have. Compares the reserved prefix first: nearly
/// every signal has another name.
pub(crate) fn is_marker_name(name: &str) -> bool {
    name.starts_with(syscall::PREFIX)
        && [PATCHED, DEPRECATED, MENDED, HELD_SIGNAL, EDITED].contains(&name)
}
