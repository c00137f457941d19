//! Who runs the server: we, unless we are root.

use std::path::Path;
use std::process::{Command, Stdio};

/// Users that exist for such purposes, the best first.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];

/// Whether this process is root.
pub(crate) fn is_root() -> bool {
    id_of(None, "-u") == Some(0)
}

/// A user without rights.
#[derive(Debug, Clone)]
pub(crate) struct User {
    name: String,
    uid: u32,
    gid: u32,
}

/// Whom to run as; `None` means as ourselves.
///
/// # Errors
/// When this process runs as root and the system has no unprivileged user.
pub(crate) fn choose() -> Result<Option<User>, String> {
    if !is_root() {
        return Ok(None);
    }
    let known = UNPRIVILEGED.iter().find_map(|name| {
        let (uid, gid) = (id_of(Some(name), "-u")?, id_of(Some(name), "-g")?);
        Some(User { name: (*name).to_owned(), uid, gid })
    });
    known.map(Some).ok_or_else(|| "there is no unprivileged user to run the server as".to_owned())
}

fn id_of(user: Option<&str>, what: &str) -> Option<u32> {
    let output = Command::new("id").arg(what).args(user).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

impl User {
    /// Gives a file or folder to the user.
    pub(crate) fn own(&self, path: &Path) -> Result<(), String> {
        std::os::unix::fs::chown(path, Some(self.uid), Some(self.gid))
            .map_err(|error| format!("{} cannot be given away: {error}", path.display()))
    }
}

/// A command that runs as the user.
pub(crate) fn command(user: Option<&User>, program: &Path) -> Command {
    match user {
        None => Command::new(program),
        Some(user) => {
            let mut command = Command::new("setpriv");
            command
                .args(["--reuid", &user.name])
                .arg(format!("--regid={}", user.gid))
                .args(["--clear-groups", "--"])
                .arg(program);
            command
        }
    }
}
