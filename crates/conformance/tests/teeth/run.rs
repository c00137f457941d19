//! Runs the suite against faults and reports which validations catch them.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use duroxide_conformance::{Validation, all};
use tokio::task::JoinSet;

use crate::factory::FaultyFactory;
use crate::fault::Fault;

/// A fault may make a validation hang; a validation that hangs counts as one that catches the
/// fault.
const VALIDATION_TIME_MAX: Duration = Duration::from_millis(1500);

/// These validations start runtimes, take longer and catch nothing that the others do not.
const EXCLUDED: &[&str] = &["race_replay"];

/// Faults tested at the same time. Most of the time passes in validations that hang.
const CONCURRENCY: usize = 8;

/// The names of the validations that catch a fault, of at most so many.
pub(crate) async fn catchers(fault: Option<Fault>, max: usize) -> Vec<String> {
    let mut caught = Vec::new();
    for validation in all() {
        if caught.len() < max
            && !EXCLUDED.contains(&validation.category)
            && catches(fault, validation).await
        {
            caught.push(format!("{}::{}", validation.category, validation.name));
        }
    }
    caught
}

/// Whether a validation fails, panics or hangs on a fault. It runs in its own task to contain a
/// panic.
async fn catches(fault: Option<Fault>, validation: Validation) -> bool {
    let run = tokio::spawn(async move {
        let factory = FaultyFactory::new(fault);
        let run = AssertUnwindSafe((validation.run)(&factory));
        tokio::time::timeout(VALIDATION_TIME_MAX, run.0).await.is_err()
    });
    run.await.unwrap_or(true)
}

/// Which validations catch which fault.
pub(crate) struct Table {
    rows: Vec<(Fault, Vec<String>)>,
}

/// Tests every fault until at most so many validations have caught it.
pub(crate) async fn table(faults: &[Fault], catchers_max: usize) -> Table {
    let previous_hook = std::panic::take_hook();
    // Thousands of expected panics would hide the table.
    std::panic::set_hook(Box::new(|_| {}));
    let mut rows = Vec::new();
    let mut running = JoinSet::new();
    let mut left = faults.iter().copied();
    loop {
        while running.len() < CONCURRENCY
            && let Some(fault) = left.next()
        {
            running.spawn(async move { (fault, catchers(Some(fault), catchers_max).await) });
        }
        match running.join_next().await {
            Some(Ok(row)) => rows.push(row),
            Some(Err(error)) => panic!("{error}"),
            None => break,
        }
    }
    std::panic::set_hook(previous_hook);
    rows.sort_by_key(|(fault, _)| faults.iter().position(|other| other == fault));
    Table { rows }
}

impl Table {
    /// Faults that no validation catches.
    pub(crate) fn uncaught(&self) -> Vec<Fault> {
        self.rows.iter().filter(|(_, by)| by.is_empty()).map(|(fault, _)| *fault).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<26} {:>5}  {:<72} caught by, for example", "violation", "count", "")?;
        for (fault, by) in &self.rows {
            let name = format!("{fault:?}");
            let first = by.first().map_or("nothing", String::as_str);
            writeln!(f, "{name:<26} {:>5}  {:<72} {first}", by.len(), fault.text())?;
        }
        write!(f, "{} violations, {} uncaught", self.rows.len(), self.uncaught().len())
    }
}
