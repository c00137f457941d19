//! SQLite storage for Duroxide: one file, many processes, no server.
//!
//! One thread owns the write connection and commits all waiting jobs in one transaction; readers
//! have connections of their own. A call that changes something returns once the change is on disk.
//!
//! ```no_run
//! # async fn open() -> Result<(), duroxide_sqlite::SqliteError> {
//! use duroxide_sqlite::SqliteProvider;
//!
//! let provider = SqliteProvider::new("sqlite:orders.db", None).await?;
//! # drop(provider);
//! # Ok(())
//! # }
//! ```

mod admin;
mod bulk_deletion;
mod capabilities;
mod commit;
mod connect;
mod deletion_slices;
mod error;
mod fetch;
mod files;
mod holding;
mod importing;
mod limits;
mod notify;
mod pending_children;
mod provider;
mod queues;
mod read;
mod reopening;
mod retention;
mod schema;
mod suspension;
mod threads;
mod write;

pub use connect::options::{Migrations, SqliteOptions, SqliteProviderBuilder, Synchronous};
pub use error::SqliteError;
pub use provider::SqliteProvider;
