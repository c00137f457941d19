//! Times, attempts and array positions as PostgreSQL stores them; the rest is in the provider kit.

pub(crate) use duroxide_core::providers::kit::{count_from_db, from_db, to_db};

/// A stored attempt count.
pub(crate) fn attempts(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// The stored form of a lease length: short enough that a time can be added to it.
pub(crate) fn lease_length(duration: std::time::Duration) -> i64 {
    to_db(duroxide_core::clock::millis(duration)).min(i64::MAX / 4)
}

/// An index counted from one, as PostgreSQL arrays count.
pub(crate) fn place(index: usize) -> i32 {
    i32::try_from(index).unwrap_or(i32::MAX - 1) + 1
}
