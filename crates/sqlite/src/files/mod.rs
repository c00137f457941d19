//! The database as a file: who may read it, which processes use it, and when a copy of it is
//! complete.

pub(crate) mod backup;
pub(crate) mod calls;
pub(crate) mod checkpoint;
pub(crate) mod integrity;
pub(crate) mod neighbours;
pub(crate) mod presence;
pub(crate) mod private;
