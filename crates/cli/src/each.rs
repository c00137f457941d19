//! Does something with each of many instances, and counts where it fails.

use std::io::{IsTerminal, Write};

use duroxide::ClientError;

use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::limits;
use crate::output::instances;

/// Why it failed for one instance.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// `not_found` or `failed`.
    pub(crate) result: &'static str,
    pub(crate) error: String,
}

/// What became of one instance.
pub(crate) type Outcome<T> = (String, Result<T, Refusal>);

/// How often it failed.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) failed: u64,
    pub(crate) missing: u64,
}

impl Tally {
    /// The end of the command; `verb` as in "3 instances failed".
    pub(crate) fn verdict(self, verb: &str) -> Result<()> {
        let Self { failed, missing } = self;
        match (failed, missing) {
            (0, 0) => Ok(()),
            (0, 1) => Err(Failure::not_found("1 instance was not found")),
            (0, _) => Err(Failure::not_found(format!("{missing} instances were not found"))),
            (_, 0) => Err(Failure::error(format!("{} {verb}", instances(failed)))),
            _ => Err(Failure::error(format!("{} {verb}, {missing} not found", instances(failed)))),
        }
    }

    fn note(&mut self, error: ClientError) -> Refusal {
        let failure = Failure::from(error);
        let is_missing = failure.exit() == Exit::NotFound;
        self.missing += u64::from(is_missing);
        self.failed += u64::from(!is_missing);
        let result = if is_missing { "not_found" } else { "failed" };
        Refusal { result, error: failure.to_string() }
    }
}

/// Calls `call` for one instance after the other, and `write` with pages of outcomes. What fails
/// does not keep the others back, and neither do outcomes that cannot be written.
pub(crate) async fn each<T>(
    (ids, mut progress): (Vec<String>, Progress),
    call: impl AsyncFn(&str) -> Result<T, ClientError>,
    mut write: impl FnMut(Vec<Outcome<T>>) -> Result<()>,
) -> (Tally, Result<()>) {
    let mut tally = Tally::default();
    let mut written = Ok(());
    let mut page = Vec::new();
    for id in ids {
        let outcome = call(&id).await.map_err(|error| tally.note(error));
        page.push((id, outcome));
        progress.step();
        if page.len() >= limits::PAGE as usize {
            written = written.and_then(|()| write(std::mem::take(&mut page)));
            page.clear();
        }
    }
    progress.end();
    (tally, written.and_then(|()| write(page)))
}

/// A line on standard error that counts, if a person sees it.
#[derive(Debug)]
pub(crate) struct Progress {
    verb: &'static str,
    total: usize,
    done: usize,
    visible: bool,
}

impl Progress {
    /// Of this many; `verb` as in "3 of 7 cancelled".
    pub(crate) fn new(verb: &'static str, total: usize) -> Self {
        let visible = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        Self { verb, total, done: 0, visible }
    }

    fn step(&mut self) {
        self.done += 1;
        if self.visible && self.done.is_multiple_of(10) {
            let Self { verb, total, done, .. } = self;
            drop(write!(std::io::stderr().lock(), "\r{done} of {total} {verb}"));
        }
    }

    fn end(&self) {
        if self.visible {
            drop(writeln!(std::io::stderr().lock(), "\r{} of {} done", self.done, self.total));
        }
    }
}
