//! Stores with many instances that nobody had to run.

use std::path::{Path, PathBuf};

use super::programs::{Programs, target_folder};

/// A store with many instances, removed at the end.
pub(crate) struct Seed(PathBuf);

impl Seed {
    /// Makes it: `kind` is finished or waiting.
    pub(crate) fn make(programs: &Programs, kind: &str, count: u64) -> Result<Self, String> {
        let folder = target_folder().join(format!("store-{kind}-{count}"));
        let seed = Self(folder);
        seed.remove();
        std::fs::create_dir_all(&seed.0).map_err(|error| error.to_string())?;
        let path = text(&seed.0)?;
        programs.ask(&["seed", "--kind", kind, "--count", &count.to_string(), "--folder", path])?;
        Ok(seed)
    }

    /// Where it is.
    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    fn remove(&self) {
        // It may not be there, and what remains of it is overwritten next time.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

impl Drop for Seed {
    fn drop(&mut self) {
        self.remove();
    }
}

fn text(path: &Path) -> Result<&str, String> {
    path.to_str().ok_or_else(|| format!("{} is not text", path.display()))
}
