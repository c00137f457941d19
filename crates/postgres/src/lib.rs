//! PostgreSQL storage for Duroxide: the same engine on many nodes.
//!
//! A node fetches a turn in one round trip and commits it in one; commits that wait share the next
//! one. The server's clock decides about leases, so that a node with a wrong clock does no harm.
//! Nodes notify each other of changes and poll only now and then.
//!
//! ```no_run
//! # async fn open() -> Result<(), duroxide_pg::PostgresError> {
//! use duroxide_pg::PostgresProvider;
//!
//! let provider = PostgresProvider::new("postgres://app@db.example/orders").await?;
//! # drop(provider);
//! # Ok(())
//! # }
//! ```

mod admin;
mod bulk_deletion;
mod clock;
mod commit;
mod compat;
mod connect;
mod deletion;
mod deletion_slices;
mod error;
mod fast_path;
mod fetch;
mod holding;
mod importing;
mod limits;
mod notify;
mod pending_children;
mod provider;
mod queues;
mod read;
mod reopening;
mod reservation;
mod retention;
mod schema;
mod statements;
mod store;
mod suspension;
mod write;

pub use compat::{ConnectionConfig, MigrationPolicy, ProviderConfig, SchemaName};
pub use connect::options::{Migrations, PostgresProviderBuilder};
pub use connect::url::SslMode;
pub use error::PostgresError;
pub use provider::PostgresProvider;
