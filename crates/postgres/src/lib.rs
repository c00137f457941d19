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
mod change;
mod clock;
mod commit;
mod commit_columns;
mod connection;
mod encoded_commit;
mod error;
mod fetch;
mod fetch_wait;
mod group;
mod history;
mod inspect;
mod kv;
mod lease;
mod limits;
mod migrations;
mod notify;
mod number;
mod options;
mod orchestrator_queue;
mod progress;
mod provider;
mod quiet;
mod reader;
mod rehearsal;
mod retention;
mod schema;
mod sessions;
mod starts;
mod step;
mod store;
mod stored_text;
mod tls;
mod token;
mod turn_lock;
mod url;
mod version_key;
mod waiting;
mod worker_queue;
mod workers;
mod writer;

pub use error::PostgresError;
pub use options::{Migrations, PostgresProviderBuilder};
pub use provider::PostgresProvider;
pub use url::SslMode;
