//! Permissions do not bind root: tests of them run again in a process of an unprivileged user.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The user `nobody`, which owns no files.
const NOBODY: u32 = 65_534;

/// Whether this process runs as root and may ignore permissions.
pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Runs one test of this binary as the user `nobody` and asserts that it passes.
pub(crate) fn run(test: &str) {
    let folder = tempfile::tempdir().unwrap();
    chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    // A copy, because the other user may not have access to the folder of the original.
    let binary = folder.path().join("test");
    fs::copy(std::env::current_exe().unwrap(), &binary).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    let output = Command::new(&binary)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
}
