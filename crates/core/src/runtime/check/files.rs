//! Checks files of exported histories.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::checker::Checker;
use super::report::CheckReport;
use super::verdict::CheckedExecution;
use crate::histories::{HistoriesError, HistoryReader, RawHistory};

/// The ending of files of histories.
const EXTENSION: &str = "jsonl";

impl Checker {
    /// Checks all files `*.jsonl` of a folder, or one file. It blocks until it is done.
    ///
    /// # Errors
    /// When a file cannot be read or is not a file of histories. A history that cannot be decoded
    /// is a problem of the report instead.
    pub fn check_folder(&self, path: impl AsRef<Path>) -> Result<CheckReport, HistoriesError> {
        let files = Mutex::new(Files { paths: files_in(path.as_ref())?, open: None });
        let report = Mutex::new(CheckReport::default());
        let begun = Instant::now();
        let worker = || -> Result<(), HistoriesError> {
            loop {
                let next = files.lock().unwrap_or_else(PoisonError::into_inner).next()?;
                let Some(raw) = next else { return Ok(()) };
                if let Some(checked) = self.check_raw(raw) {
                    self.add(&mut report.lock().unwrap_or_else(PoisonError::into_inner), checked);
                }
            }
        };
        let outcome = std::thread::scope(|scope| {
            let workers: Vec<_> = (1..self.parallelism).map(|_| scope.spawn(worker)).collect();
            let mut outcome = worker();
            for other in workers {
                let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                outcome = outcome.and(other);
            }
            outcome
        });
        outcome?;
        let mut report = report.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.elapsed = begun.elapsed();
        Ok(report)
    }

    /// `None` if the execution is not wanted.
    fn check_raw(&self, raw: RawHistory) -> Option<CheckedExecution> {
        match raw.decode() {
            Ok(history) => self.wants(&history).then(|| self.check_history(history)),
            Err(error) => {
                let execution = (raw.instance_id(), raw.execution_id());
                Some(self.undecodable(execution, raw.start(), error.to_string()))
            }
        }
    }

    pub(super) fn add(&self, report: &mut CheckReport, checked: CheckedExecution) {
        let noticed = self.on_checked.as_ref().map(|observer| (observer, checked.clone()));
        report.add(checked);
        if let Some((observer, checked)) = noticed {
            observer(&checked, &report.progress);
        }
    }
}

/// The executions of several files, one after the other.
struct Files {
    /// Those that are not open yet, last first.
    paths: Vec<PathBuf>,
    open: Option<HistoryReader<BufReader<File>>>,
}

impl Files {
    fn next(&mut self) -> Result<Option<RawHistory>, HistoriesError> {
        loop {
            if let Some(reader) = &mut self.open
                && let Some(raw) = reader.next_raw()?
            {
                return Ok(Some(raw));
            }
            let Some(path) = self.paths.pop() else {
                self.open = None;
                return Ok(None);
            };
            let place = path.display().to_string();
            let file = File::open(&path)
                .map_err(|source| HistoriesError::Io { place: place.clone(), source })?;
            self.open = Some(HistoryReader::new(place, BufReader::new(file))?);
        }
    }
}

/// The files of a folder, last first, or the file itself.
fn files_in(path: &Path) -> Result<Vec<PathBuf>, HistoriesError> {
    let failed = |source| HistoriesError::Io { place: path.display().to_string(), source };
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let file = entry.map_err(failed)?.path();
        if file.extension().is_some_and(|extension| extension == EXTENSION) {
            found.push(file);
        }
    }
    found.sort();
    found.reverse();
    Ok(found)
}
