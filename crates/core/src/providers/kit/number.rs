//! Unsigned numbers in signed columns: SQL databases store signed 64-bit integers.

/// The stored form. Ids never exceed it; in a time the largest value means "never".
pub fn to_db(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// The value of a stored integer. Providers never store a negative one; it reads as zero.
pub fn from_db(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

/// The value of a stored count.
pub fn count_from_db(value: i64) -> usize {
    usize::try_from(value).unwrap_or(0)
}
