//! Counts instructions with callgrind.

use std::path::Path;
use std::process::Command;

use crate::step::announce;

/// Makes sure that valgrind is installed; installs it where that is possible.
pub(super) fn require() -> Result<(), String> {
    if is_installed() {
        return Ok(());
    }
    announce("gate: installing valgrind");
    let install = ["install", "--yes", "--no-install-recommends", "valgrind"];
    let installed = Command::new("apt-get").args(install).status();
    if installed.is_ok_and(|status| status.success()) && is_installed() {
        return Ok(());
    }
    Err("gate: valgrind is missing and cannot be installed from here; install it and try again"
        .to_owned())
}

fn is_installed() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Instructions of a whole run.
pub(super) fn instructions(program: &Path, arguments: &[&str]) -> Result<u64, String> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--"])
        .arg(program)
        .args(arguments);
    let output = command.output().map_err(|error| format!("valgrind: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{arguments:?} under valgrind failed: {stderr}"));
    }
    collected(&stderr).ok_or_else(|| format!("valgrind printed no count: {stderr}"))
}

fn collected(stderr: &str) -> Option<u64> {
    let line = stderr.lines().find_map(|line| line.split_once("Collected :"));
    line?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_the_output_of_callgrind() {
        let stderr = "==7== Events    : Ir\n==7== Collected : 123456\n==7==\n";
        assert_eq!(collected(stderr), Some(123_456));
        assert_eq!(collected("nothing"), None);
    }
}
