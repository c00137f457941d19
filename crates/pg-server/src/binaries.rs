//! Where the programs of the server are, and how to get them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names the folder of the programs, to try another version than the newest that is installed.
pub const PROGRAMS_VARIABLE: &str = "DUROXIDE_PG_BIN";

/// Where Debian and others put one folder per major version.
const VERSION_FOLDERS: [&str; 2] = ["/usr/lib/postgresql", "/usr/pgsql"];

/// The folder that holds `initdb` and `postgres`: the one that [`PROGRAMS_VARIABLE`] names, or the
/// newest if there are several.
pub fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAMS_VARIABLE) {
        return Some(PathBuf::from(named)).filter(|folder| has_programs(folder));
    }
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for root in VERSION_FOLDERS {
        let Ok(versions) = std::fs::read_dir(root) else { continue };
        for version in versions.flatten() {
            let number = version.file_name().to_str().and_then(|name| name.parse().ok());
            let folder = version.path().join("bin");
            if has_programs(&folder) {
                found.push((number.unwrap_or(0), folder));
            }
        }
    }
    found.sort();
    if let Some((_, newest)) = found.pop() {
        return Some(newest);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find(|folder| has_programs(folder))
}

fn has_programs(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| folder.join(program).is_file())
}

/// Finds the programs, installing Debian's `postgresql` if they are missing and we may.
///
/// # Errors
/// When they are missing and cannot be installed; the text says what to do.
pub fn install() -> Result<PathBuf, String> {
    if let Some(folder) = find() {
        return Ok(folder);
    }
    if let Some(named) = std::env::var_os(PROGRAMS_VARIABLE) {
        let named = named.display();
        return Err(format!("{PROGRAMS_VARIABLE} names {named}, which holds no server programs"));
    }
    let mut tried = false;
    for args in [&["update"][..], &["install", "-y", "--no-install-recommends", "postgresql"]] {
        let Some(mut command) = as_root("apt-get") else { break };
        tried = true;
        let status = command
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            break;
        }
    }
    find().ok_or_else(|| {
        let what = if tried { "could not be installed" } else { "is missing" };
        format!(
            "the PostgreSQL server {what}: install the package 'postgresql', or name the folder of \
             its programs in {PROGRAMS_VARIABLE}"
        )
    })
}

/// A command that runs with the right to install, if we have it without being asked.
fn as_root(program: &str) -> Option<Command> {
    if crate::user::is_root() {
        return Some(Command::new(program));
    }
    let may = Command::new("sudo")
        .args(["-n", "true"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !may.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut command = Command::new("sudo");
    command.args(["-n", "--preserve-env=DEBIAN_FRONTEND", program]);
    Some(command)
}
