//! Bounds of the included files, small so that they are reached.

/// Results that wait for one leader.
pub(crate) const FINISHED_WAITING_MAX: usize = 2;
