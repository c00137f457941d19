//! All samples of a run of the driver, by row and engine.

use bench_harness::{Sample, Workload, stats};
use serde::Serialize;

use super::stores::Store;

/// Everything that was measured.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Figures {
    pub(crate) cells: Vec<Cell>,
    pub(crate) growth: Vec<Growth>,
    /// Errors of the runs without a sample.
    pub(crate) broken: Vec<String>,
    /// Rows left out for lack of time.
    pub(crate) left_out: Vec<String>,
}

/// One engine in one row.
#[derive(Debug, Serialize)]
pub(crate) struct Cell {
    pub(crate) row: String,
    pub(crate) engine: String,
    pub(crate) samples: Vec<Sample>,
}

/// Growth of a cost.
#[derive(Debug, Serialize)]
pub(crate) struct Growth {
    /// What grows.
    pub(crate) against: &'static str,
    /// On which store.
    pub(crate) store: Store,
    /// Its size, and milliseconds for one unit of work.
    pub(crate) points: Vec<(f64, f64)>,
    /// Exponent of the power law through the points.
    pub(crate) exponent: f64,
}

impl Growth {
    /// Fits the points.
    pub(crate) fn new(against: &'static str, store: Store, points: Vec<(f64, f64)>) -> Self {
        let exponent = stats::exponent(&points);
        Self { against, store, points, exponent }
    }

    /// Cost at the last point as a multiple of the cost at the first.
    pub(crate) fn factor(&self) -> Option<f64> {
        let (first, last) = (self.points.first()?, self.points.last()?);
        Some(last.1 / first.1)
    }
}

impl Figures {
    /// Adds a sample.
    pub(crate) fn add(&mut self, row: &str, sample: Sample) {
        let found = self.cells.iter_mut().find(|c| c.row == row && c.engine == sample.engine);
        match found {
            Some(cell) => cell.samples.push(sample),
            None => self.cells.push(Cell {
                row: row.to_owned(),
                engine: sample.engine.clone(),
                samples: vec![sample],
            }),
        }
    }

    /// One engine in one row.
    pub(crate) fn cell(&self, row: &str, engine: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.row == row && cell.engine == engine)
    }

    /// Growth against something on a store.
    pub(crate) fn growth(&self, against: &str, store: Store) -> Option<&Growth> {
        self.growth.iter().find(|growth| growth.against == against && growth.store == store)
    }
}

impl Cell {
    /// Median of units per second.
    pub(crate) fn rate(&self) -> f64 {
        stats::median(&self.values(|sample| Some(sample.rate())))
    }

    /// Median of a further figure.
    pub(crate) fn figure(&self, name: &str) -> Option<f64> {
        let values = self.values(|sample| sample.figures.get(name).copied());
        (!values.is_empty()).then(|| stats::median(&values))
    }

    /// The main figure of the row: a rate, a time in milliseconds, or a share of a core.
    pub(crate) fn headline(&self) -> f64 {
        match Workload::named(&self.samples[0].workload) {
            Ok(Workload::Latency) => self.figure("p50_ms").unwrap_or(0.0),
            Ok(Workload::Idle) => self.figure("core_percent").unwrap_or(0.0),
            Ok(Workload::Memory) => self.figure("bytes_per_instance").unwrap_or(0.0),
            _ => self.rate(),
        }
    }

    /// Unit of the headline, and whether more is better.
    pub(crate) fn unit(&self) -> (String, bool) {
        match Workload::named(&self.samples[0].workload) {
            Ok(Workload::Latency) => ("ms, median".to_owned(), false),
            Ok(Workload::Idle) => ("% of a core".to_owned(), false),
            Ok(Workload::Memory) => ("bytes/instance".to_owned(), false),
            _ => (format!("{}/s", self.samples[0].unit), true),
        }
    }

    /// Distance between the best and the worst round as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        stats::spread(&self.values(|sample| Some(sample.rate())))
    }

    /// Workflows that failed or were lost.
    pub(crate) fn failed(&self) -> u64 {
        self.samples.iter().map(|sample| sample.failed).sum()
    }

    /// The first failure.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.samples.iter().find_map(|sample| sample.failure.as_deref())
    }

    fn values(&self, of: impl Fn(&Sample) -> Option<f64>) -> Vec<f64> {
        // A failed run does not measure how long the work takes.
        self.samples.iter().filter(|sample| sample.failed == 0).filter_map(of).collect()
    }
}
