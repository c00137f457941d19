//! The store that the command works on: opened as it is, never created or migrated by the way.

mod access;
mod location;
mod opened;
#[cfg(feature = "postgres")]
mod postgres;
mod refusal;
#[cfg(feature = "sqlite")]
mod sqlite;

pub(crate) use access::Access;
pub(crate) use location::Location;
pub(crate) use opened::Store;
pub(crate) use refusal::Refusal;
