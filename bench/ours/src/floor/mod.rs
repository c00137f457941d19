//! The floor: the rows of a workload written straight to the store, without an engine.
//!
//! The same tables and indexes, made by the provider; the same texts, taken from an instance that
//! was run for real; the same durability; as few transactions as the workload allows. What a queue
//! only needs to be taken from it, such as leases on instances, is left out.

mod all;
mod batches;
mod postgres;
mod postgres_rows;
mod sqlite;
mod sqlite_rows;

pub(crate) use all::ALL;
pub(crate) use postgres::NAME as POSTGRES;
pub(crate) use sqlite::NAME as SQLITE;
