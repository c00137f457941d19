//! Runs the suite against faults and says what noticed them.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use duroxide_conformance::{Validation, all};
use tokio::task::JoinSet;

use crate::factory::FaultyFactory;
use crate::fault::Fault;

/// A fault may make a validation wait for ever; then it has noticed it.
const VALIDATION_TIME_MAX: Duration = Duration::from_millis(1500);

/// Whole runtimes need longer than a moment, and catch nothing that the others do not.
const LEFT_OUT: &[&str] = &["race_replay"];

/// Faults tried at once. Most of the time is spent waiting for a validation that hangs.
const AT_ONCE: usize = 8;

/// The names of the validations that notice a fault.
pub(crate) async fn catchers(fault: Option<Fault>) -> Vec<String> {
    let mut caught = Vec::new();
    for validation in all() {
        if !LEFT_OUT.contains(&validation.category) && notices(fault, validation).await {
            caught.push(format!("{}::{}", validation.category, validation.name));
        }
    }
    caught
}

/// Whether a validation fails, panics or hangs on a fault. In a task of its own, so that a panic
/// ends only that.
async fn notices(fault: Option<Fault>, validation: Validation) -> bool {
    let run = tokio::spawn(async move {
        let factory = FaultyFactory::new(fault);
        let run = AssertUnwindSafe((validation.run)(&factory));
        tokio::time::timeout(VALIDATION_TIME_MAX, run.0).await.is_err()
    });
    run.await.unwrap_or(true)
}

/// Which validations notice which fault.
pub(crate) struct Table {
    rows: Vec<(Fault, Vec<String>)>,
}

/// Tries every fault.
pub(crate) async fn table(faults: &[Fault]) -> Table {
    let quiet = std::panic::take_hook();
    // Thousands of expected panics would drown the table.
    std::panic::set_hook(Box::new(|_| {}));
    let mut rows = Vec::new();
    let mut running = JoinSet::new();
    let mut left = faults.iter().copied();
    loop {
        while running.len() < AT_ONCE
            && let Some(fault) = left.next()
        {
            running.spawn(async move { (fault, catchers(Some(fault)).await) });
        }
        match running.join_next().await {
            Some(Ok(row)) => rows.push(row),
            Some(Err(error)) => panic!("{error}"),
            None => break,
        }
    }
    std::panic::set_hook(quiet);
    rows.sort_by_key(|(fault, _)| faults.iter().position(|other| other == fault));
    Table { rows }
}

impl Table {
    /// Faults that nothing notices.
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
