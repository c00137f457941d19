//! The database as a file: who may read it, and when a copy of it is complete.

pub(crate) mod backup;
pub(crate) mod calls;
pub(crate) mod checkpoint;
pub(crate) mod private;
