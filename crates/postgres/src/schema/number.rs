//! PostgreSQL stores signed 64-bit integers; the contract uses unsigned ones.

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
