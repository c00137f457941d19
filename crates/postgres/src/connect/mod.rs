//! How the database is reached: URL, settings, TLS and connections.

pub(crate) mod connection;
pub(crate) mod dial;
pub(crate) mod open;
pub(crate) mod options;
pub(crate) mod own_thread;
pub(crate) mod parameters;
pub(crate) mod password;
pub(crate) mod session;
pub(crate) mod tls;
pub(crate) mod url;
