//! A journal of what nodes did: a file that all of them append to.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use duroxide::providers::{Clock, SystemClock};

/// Long enough for every expected step, on a busy machine too.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// One line of the journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) what: String,
    pub(crate) instance: String,
    pub(crate) process: u32,
    pub(crate) at_ms: u64,
}

#[derive(Debug, Clone)]
pub(crate) struct Journal {
    path: PathBuf,
}

impl Journal {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { path: folder.join("journal") }
    }

    pub(crate) fn write(&self, what: &str, instance: &str) {
        let line =
            format!("{what}\t{instance}\t{}\t{}\n", std::process::id(), SystemClock.now_ms());
        let mut file = OpenOptions::new().create(true).append(true).open(&self.path).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }

    pub(crate) fn read(&self) -> Vec<Entry> {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        text.lines().map(parse).collect()
    }

    /// The entries of one kind about one instance.
    pub(crate) fn all(&self, what: &str, instance: &str) -> Vec<Entry> {
        let mut entries = self.read();
        entries.retain(|entry| entry.what == what && entry.instance == instance);
        entries
    }

    /// Waits for an entry of this kind by one process.
    pub(crate) async fn wait(&self, what: &str, instance: &str, process: u32) -> Entry {
        let start = Instant::now();
        loop {
            let entries = self.all(what, instance);
            if let Some(entry) = entries.into_iter().find(|entry| entry.process == process) {
                return entry;
            }
            assert!(
                start.elapsed() < TIMEOUT,
                "no '{what} {instance}' by {process} in {:?}",
                self.read()
            );
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

fn parse(line: &str) -> Entry {
    let fields: Vec<&str> = line.split('\t').collect();
    let [what, instance, process, at_ms] = fields[..] else { panic!("{line}") };
    Entry {
        what: what.to_owned(),
        instance: instance.to_owned(),
        process: process.parse().unwrap(),
        at_ms: at_ms.parse().unwrap(),
    }
}
