//! Opening a database: its URL, its options and its connections.

pub(crate) mod busy_retry;
pub(crate) mod connection;
mod openings;
pub(crate) mod options;
pub(crate) mod statement_count;
pub(crate) mod steady_clock;
pub(crate) mod url;
