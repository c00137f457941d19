//! SQLite stores signed 64-bit integers; the contract speaks of unsigned ones.

use std::time::Duration;

use duroxide_core::clock::millis;

/// The stored form. Larger values cannot occur in ids and mean "never" in times.
pub(crate) fn to_db(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The value of a stored integer. Negative ones are never written; they read as zero.
pub(crate) fn from_db(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// A stored count.
pub(crate) fn count(value: i64) -> usize {
    usize::try_from(value).unwrap_or(0)
}

/// The stored form of a length of time, in milliseconds.
pub(crate) fn millis_to_db(duration: Duration) -> i64 {
    to_db(millis(duration))
}
