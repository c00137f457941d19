//! The storage contract and the stores that come with the crate.

pub use duroxide_core::providers::*;

/// SQLite, embedded: a file or memory.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    pub use duroxide_sqlite::*;
}

/// PostgreSQL, for many nodes.
#[cfg(feature = "postgres")]
pub mod postgres {
    pub use duroxide_pg::*;
}
