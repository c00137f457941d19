//! One cargo command: announced, run in the workspace, timed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A command to run, and its name in the output.
pub(crate) struct Step<'a> {
    /// What the step is called in the output.
    pub(crate) name: &'a str,
    /// Arguments for `cargo`.
    pub(crate) cargo: &'a [&'a str],
    /// Environment on top of the inherited one.
    pub(crate) env: &'a [(&'a str, &'a str)],
}

/// Prefixes of the variables in which cargo describes the running package.
const OWN_PACKAGE: &[&str] = &["CARGO_MANIFEST_", "CARGO_PKG_"];

impl Step<'_> {
    /// Runs the step; an error names it.
    pub(crate) fn run(&self) -> Result<(), String> {
        announce(&format!("{}: cargo {}", self.name, self.cargo.join(" ")));
        let started = Instant::now();
        let status = cargo()
            .args(self.cargo)
            .envs(self.env.iter().copied())
            .status()
            .map_err(|error| format!("{}: cargo cannot be started: {error}", self.name))?;
        if !status.success() {
            return Err(format!("{} failed ({status})", self.name));
        }
        announce(&format!("{}: done in {:.1} s", self.name, started.elapsed().as_secs_f64()));
        Ok(())
    }
}

/// Reports progress. On stderr, so that stdout holds only results.
pub(crate) fn announce(text: &str) {
    eprintln!("xtask: {text}");
}

/// The directory of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a directory of the workspace").to_path_buf()
}

/// The cargo that runs this program, in the workspace, so that a toolchain override stays in force.
// The child does not inherit the description of this package: build scripts that read it would
// run again, and their dependants would be rebuilt, whenever a developer alternates between cargo
// and xtask.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_not_run_by_cargo| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.current_dir(root());
    for (name, _) in std::env::vars_os() {
        if OWN_PACKAGE.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}

/// What a cargo command prints.
pub(crate) fn printed_by_cargo(arguments: &[&str]) -> Result<String, String> {
    let failed = |reason: &str| format!("cargo {}: {reason}", arguments.join(" "));
    let output = cargo().args(arguments).output().map_err(|error| failed(&error.to_string()))?;
    if !output.status.success() {
        return Err(failed(&String::from_utf8_lossy(&output.stderr)));
    }
    String::from_utf8(output.stdout).map_err(|error| failed(&error.to_string()))
}
