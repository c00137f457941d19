//! The floor: the rows of a workload written straight to the store, without an engine.
//!
//! It uses the tables and indexes of the provider, texts of a real instance, the same durability,
//! and as few transactions as the workload allows. It leaves out the writes that only serve to
//! claim work, such as leases on instances.

mod all;
mod batches;
mod postgres;
mod postgres_rows;
mod sqlite;
mod sqlite_rows;

pub(crate) use all::ALL;
pub(crate) use postgres::{NAME as POSTGRES, connect, connect_to};
pub(crate) use sqlite::NAME as SQLITE;
