//! A file with one line for each effect. It stands for the databases of other services.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Effects by key: a key that exists is not noted again.
#[derive(Debug)]
pub(crate) struct Ledger {
    file: Mutex<PathBuf>,
}

impl Ledger {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self { file: Mutex::new(file) }
    }

    /// Adds the line `key what`, unless there is one with this key.
    pub(crate) fn note_once(&self, key: &str, what: &str) -> io::Result<()> {
        let path = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut file = OpenOptions::new().create(true).append(true).open(&*path)?;
        let noted = fs::read_to_string(&*path)?;
        if noted.lines().any(|line| line.split(' ').next() == Some(key)) {
            return Ok(());
        }
        file.write_all(format!("{key} {what}\n").as_bytes())
    }
}
