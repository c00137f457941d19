//! Shortcuts that save round trips; the plain path works without them.

pub(crate) mod starts;
pub(crate) mod step;
pub(crate) mod warm_up;
