//! A recorder of the metrics facade that remembers every value, for unit tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// Records the values of the facade by metric name and labels.
#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<BTreeMap<String, f64>>>);

struct Cell {
    seen: Seen,
    name: String,
}

impl Seen {
    fn cell(&self, key: &Key) -> Arc<Cell> {
        let labels: Vec<_> =
            key.labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        Arc::new(Cell { seen: self.clone(), name })
    }

    /// The value of a metric, written as `name{label=value,…}`.
    pub(crate) fn value(&self, name: &str) -> f64 {
        let seen = self.0.lock().unwrap();
        *seen.get(name).unwrap_or_else(|| panic!("{name} is missing in {seen:?}"))
    }
}

impl Cell {
    fn change(&self, change: impl FnOnce(&mut f64)) {
        change(self.seen.0.lock().unwrap().entry(self.name.clone()).or_default());
    }
}

impl CounterFn for Cell {
    fn increment(&self, value: u64) {
        self.change(|seen| *seen += value as f64);
    }
    fn absolute(&self, value: u64) {
        self.change(|seen| *seen = value as f64);
    }
}

impl GaugeFn for Cell {
    fn increment(&self, value: f64) {
        self.change(|seen| *seen += value);
    }
    fn decrement(&self, value: f64) {
        self.change(|seen| *seen -= value);
    }
    fn set(&self, value: f64) {
        self.change(|seen| *seen = value);
    }
}

impl HistogramFn for Cell {
    fn record(&self, value: f64) {
        self.change(|seen| *seen += value);
    }
}

impl Recorder for Seen {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell(key))
    }
    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.cell(key))
    }
}
