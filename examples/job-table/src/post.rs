//! What jobs do: they put a line into a file. The old worker and the workflows share this code.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::table::Job;

/// The post.
#[derive(Debug, Clone)]
pub struct Post {
    outbox: PathBuf,
}

impl Post {
    /// The post that writes to this file.
    pub fn new(outbox: &Path) -> Self {
        Self { outbox: outbox.to_owned() }
    }

    /// Does a job. One whose payload begins with `broken` always fails.
    ///
    /// # Errors
    /// When the job cannot be done.
    pub fn perform(&self, job: &Job, by: &str) -> Result<(), String> {
        if job.payload.starts_with("broken") {
            return Err(format!("'{}' has no address", job.payload));
        }
        let line = format!("{} {} {} by {by}\n", job.kind, job.id, job.payload);
        let file = OpenOptions::new().create(true).append(true).open(&self.outbox);
        file.and_then(|mut file| file.write_all(line.as_bytes())).map_err(|error| error.to_string())
    }

    /// What was done, in its order.
    pub fn read(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.outbox).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
