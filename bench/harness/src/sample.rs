//! The result of one run of one workload.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// One run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Engine and store.
    pub engine: String,
    /// Which failures a committed transaction survives.
    pub durability: String,
    /// The workload.
    pub workload: String,
    /// Its size.
    pub size: u64,
    /// The unit that is counted: workflows, steps, events.
    pub unit: String,
    /// How many units the run completed.
    pub count: u64,
    /// How long it took.
    pub seconds: f64,
    /// Processor time of the whole process during the run.
    pub cpu_seconds: f64,
    /// Workflows that failed, returned a wrong result or never completed.
    pub failed: u64,
    /// The first of these failures.
    pub failure: Option<String>,
    /// Further figures by name.
    pub figures: BTreeMap<String, f64>,
}

impl Sample {
    /// Units per second.
    pub fn rate(&self) -> f64 {
        if self.seconds > 0.0 { self.count as f64 / self.seconds } else { 0.0 }
    }

    /// Adds a further figure.
    pub fn with(mut self, name: &str, value: f64) -> Self {
        self.figures.insert(name.to_owned(), value);
        self
    }
}
