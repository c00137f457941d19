//! The floors of all stores.

use bench_harness::{Case, Sample};

use super::{postgres, sqlite};

/// The floor of one store.
pub(crate) struct Floor {
    /// Name in the list of engines.
    pub(crate) name: &'static str,
    /// Writes the rows of a case.
    pub(crate) sample: fn(Case) -> Result<Sample, String>,
}

/// One for each store.
pub(crate) const ALL: &[Floor] = &[
    Floor { name: sqlite::NAME, sample: sqlite::sample },
    Floor { name: postgres::NAME, sample: postgres::sample },
];
