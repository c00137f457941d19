//! Rows that are changed with SQL while a node works.
//!
//! A round starts a *victim* whose rows fill every table, changes some of them, wakes the victim
//! and runs healthy work beside it. The healthy work must finish, its own state must be readable,
//! no call may hang, and no thread may panic. What becomes of the victim is its own affair.

mod cell;
mod code;
mod postgres;
mod reads;
mod sqlite;
mod store;
mod tested;

pub use cell::Cell;
pub use postgres::PostgresRows;
pub use sqlite::SqliteRows;
pub use store::{RowStore, TextRow};
pub use tested::{Round, Tested};
