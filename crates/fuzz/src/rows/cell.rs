//! A value of a row, changed.

use crate::Rng;
use crate::mutation::{NUMBERS, mutate_text};

/// Bytes of a text that is much larger than any real one.
const HUGE_BYTES: usize = 2 * 1024 * 1024;

/// A value for a column. Whether it fits the type of the column is up to the database.
#[derive(Debug, Clone)]
pub enum Cell {
    /// No value.
    Null,
    /// A text.
    Text(String),
    /// Bytes that may be no text.
    Bytes(Vec<u8>),
    /// A number as it is written.
    Number(String),
}

impl Cell {
    /// A value in the place of another.
    pub(super) fn instead_of(rng: &mut Rng, old: Option<&str>) -> Self {
        let old = old.unwrap_or_default();
        match rng.below(16) {
            0 => Self::Null,
            1 | 2 => {
                let length = rng.below(40);
                Self::Bytes((0..length).map(|_| rng.number().to_le_bytes()[0]).collect())
            }
            3 => Self::Text("h".repeat(HUGE_BYTES)),
            4..=7 => Self::Number((*rng.pick(NUMBERS)).to_owned()),
            _ if old.parse::<i64>().is_ok() => Self::Number((*rng.pick(NUMBERS)).to_owned()),
            _ => Self::Text(mutate_text(rng, old)),
        }
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
