//! Stores filled with copies of one instance.

use std::path::{Path, PathBuf};

use super::programs::{Programs, target_folder};
use super::stores::Store;

/// A store with many instances; dropping it removes it.
pub(crate) struct Seed(PathBuf);

impl Seed {
    /// Creates the store; `kind` is `finished`, `waiting` or a backlog. On PostgreSQL it is the
    /// schema of a folder, which goes with the server.
    pub(crate) fn make(
        programs: &Programs,
        store: Store,
        kind: &str,
        count: u64,
    ) -> Result<Self, String> {
        let folder = target_folder().join(format!("store-{kind}-{count}"));
        let seed = Self(folder);
        seed.remove();
        std::fs::create_dir_all(&seed.0).map_err(|error| error.to_string())?;
        let path = text(&seed.0)?;
        programs.run_command(&[
            "seed",
            "--kind",
            kind,
            "--count",
            &count.to_string(),
            "--folder",
            path,
            "--store",
            store.name(),
        ])?;
        Ok(seed)
    }

    /// The folder of the store.
    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    fn remove(&self) {
        // It may not exist, and the next run overwrites what remains of it.
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
