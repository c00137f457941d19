//! Permissions do not bind root: tests about them run again as somebody else.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The user that owns nothing, on every Unix.
const NOBODY: u32 = 65_534;

/// Whether this process may write what it has no permission for.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Runs one test of this binary as nobody and passes its verdict on.
pub(crate) fn run(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    // A copy, because the folder of the original may be closed to others.
    let binary = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = Command::new(&binary)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    let complained = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && said.contains("1 passed"), "{said}\n{complained}");
}
