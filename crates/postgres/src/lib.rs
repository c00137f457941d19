//! PostgreSQL storage for Duroxide: the same engine on many nodes.
//!
//! A turn is fetched in one round trip and committed in one; what waits for a commit shares the
//! next. Leases are judged by the database's clock, so that a node whose clock is wrong does no
//! harm. Nodes are woken by notifications and look by themselves only now and then.
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
mod clock;
mod commit;
mod connect;
mod error;
mod fast_path;
mod fetch;
mod limits;
mod notify;
mod provider;
mod queues;
mod read;
mod retention;
mod schema;
mod store;
mod write;

pub use connect::options::{Migrations, PostgresProviderBuilder};
pub use connect::url::SslMode;
pub use error::PostgresError;
pub use provider::PostgresProvider;
