//! One external command: announced, run in the workspace, timed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// A command to run, and its name for people.
pub(crate) struct Step<'a> {
    /// What the step is called in the output.
    pub(crate) name: &'a str,
    /// Arguments for `cargo`.
    pub(crate) cargo: &'a [&'a str],
    /// Environment on top of the inherited one.
    pub(crate) env: &'a [(&'a str, &'a str)],
}

/// Beginnings of the variables by which cargo tells a package about itself.
const ABOUT_US: &[&str] = &["CARGO_MANIFEST_", "CARGO_PKG_"];

impl Step<'_> {
    /// Runs the step; an error names it.
    pub(crate) fn run(&self) -> Result<(), String> {
        announce(&format!("{}: cargo {}", self.name, self.cargo.join(" ")));
        let begun = Instant::now();
        let status = inner_cargo()
            .args(self.cargo)
            .envs(self.env.iter().copied())
            .current_dir(root())
            .status()
            .map_err(|error| format!("{}: cargo cannot be started: {error}", self.name))?;
        if !status.success() {
            return Err(format!("{} failed ({status})", self.name));
        }
        announce(&format!("{}: done in {:.1} s", self.name, begun.elapsed().as_secs_f64()));
        Ok(())
    }
}

/// Tells people what happens. On stderr, so that stdout holds only results.
pub(crate) fn announce(text: &str) {
    eprintln!("xtask: {text}");
}

/// The directory of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a directory of the workspace").to_path_buf()
}

// The cargo that runs us, so that a toolchain override stays in force. What it says about this
// package is not passed on: build scripts that look at it would run again, and all that depends on
// them would be built again, whenever a developer calls cargo by hand and by us in turn.
fn inner_cargo() -> Command {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_not_run_by_cargo| "cargo".to_owned());
    let mut command = Command::new(cargo);
    for (name, _) in std::env::vars_os() {
        if ABOUT_US.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command
}
