//! SQLite storage for Duroxide: one file, many processes, no server.
//!
//! One thread owns the write connection and commits whatever waits in one transaction; readers have
//! connections of their own. An answer means that the change is on disk.
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
mod change;
mod commit;
mod connection;
mod direct_turn;
mod error;
mod fetch;
mod fetch_wait;
mod flush;
mod history;
mod inspect;
mod job;
mod kv;
mod limits;
mod migrations;
mod neighbours;
mod number;
mod options;
mod orchestrator_queue;
mod patience;
mod progress;
mod provider;
mod read_jobs;
mod readers;
mod retention;
mod round;
mod sessions;
mod start_limits;
mod statement_count;
mod stored_text;
mod turn_lock;
mod url;
mod waiting;
mod work_lock;
mod worker_queue;
mod workers;
mod writer;

pub use error::SqliteError;
pub use options::{SqliteOptions, SqliteProviderBuilder, Synchronous};
pub use provider::SqliteProvider;
