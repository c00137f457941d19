//! Times as SQLite stores them; the rest is in the provider kit.

use std::time::Duration;

use duroxide_core::clock::millis;
pub(crate) use duroxide_core::providers::kit::{count_from_db, from_db, to_db};

/// The stored form of a length of time, in milliseconds.
pub(crate) fn millis_to_db(duration: Duration) -> i64 {
    to_db(millis(duration))
}
