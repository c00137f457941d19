//! The world outside: each thing that an activity really did is one line in a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// What activities touch: a log that is on disk before they say that they are done, and the
/// terminal, which is told when one begins.
#[derive(Debug, Clone)]
pub(crate) struct World {
    log: Arc<Mutex<File>>,
    begun: UnboundedSender<String>,
}

impl World {
    /// Opens the log; the receiver gets the name of each activity that begins.
    pub(crate) fn open(path: PathBuf) -> io::Result<(Self, UnboundedReceiver<String>)> {
        let log = OpenOptions::new().create(true).append(true).open(path)?;
        let (begun, names) = mpsc::unbounded_channel();
        Ok((Self { log: Arc::new(Mutex::new(log)), begun }, names))
    }

    /// Says that an activity begins.
    pub(crate) fn begins(&self, activity: &str) {
        // Nobody listens any more while the program ends.
        drop(self.begun.send(activity.to_owned()));
    }

    /// Writes down one effect under its idempotency key.
    ///
    /// A kill between this line and the record of the result makes the step run again: that is the
    /// moment for which a real service is handed the key, so that it does nothing the second time.
    pub(crate) fn record(&self, key: &str) -> io::Result<()> {
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.write_all(format!("{key}\n").as_bytes())?;
        log.sync_data()
    }
}
