//! New files belong to their owner alone: payloads are other people's data.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Creates an empty file that only its owner may read and write; an error if it exists.
///
/// SQLite gives the files beside a database the same permissions.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Like [`create`], unless the file exists.
pub(crate) fn create_if_missing(path: &Path) -> io::Result<()> {
    match create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}
