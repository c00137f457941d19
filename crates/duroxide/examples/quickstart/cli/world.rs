//! The outside world: each effect of an activity is one line in a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// What activities act on: a log that is on disk before they complete, and the terminal, which
/// shows when one starts.
#[derive(Debug, Clone)]
pub(crate) struct World {
    log: Arc<Mutex<File>>,
    started: UnboundedSender<String>,
}

impl World {
    /// Opens the log; the receiver gets the name of each activity that starts.
    pub(crate) fn open(path: PathBuf) -> io::Result<(Self, UnboundedReceiver<String>)> {
        let log = OpenOptions::new().create(true).append(true).open(path)?;
        let (started, names) = mpsc::unbounded_channel();
        Ok((Self { log: Arc::new(Mutex::new(log)), started }, names))
    }

    /// Reports that an activity starts.
    pub(crate) fn starts(&self, activity: &str) {
        // The receiver is gone while the program shuts down.
        drop(self.started.send(activity.to_owned()));
    }

    /// Records one effect under its idempotency key.
    ///
    /// A kill between this line and the record of the result makes the step run again: that is the
    /// moment for which a real service gets the key, so that it does nothing the second time.
    pub(crate) fn record(&self, key: &str) -> io::Result<()> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.write_all(format!("{key}\n").as_bytes())?;
        log.sync_data()
    }
}
