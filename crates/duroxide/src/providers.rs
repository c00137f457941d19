//! The provider contract and the bundled stores.

pub use duroxide_core::providers::*;

/// SQLite: a file or a database in memory, without a server.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    pub use duroxide_sqlite::*;
}

/// PostgreSQL: one store for many nodes.
#[cfg(feature = "postgres")]
pub mod postgres {
    pub use duroxide_pg::*;
}
