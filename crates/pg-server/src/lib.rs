//! A throw-away PostgreSQL server with its own folder and a free loopback port; dropping it stops
//! it.
//!
//! It runs as an unprivileged user when we are root, because the server refuses anything else. A
//! small keeper process waits for the end of its standard input, which comes when the owner drops
//! the server or dies in any way; then it stops the server by its id and removes the folder.

mod binaries;
mod keeper;
mod server;
mod user;

pub use binaries::{PROGRAMS_VARIABLE, find, install};
pub use server::{Server, Setup, URL_VARIABLE, shared_url};
