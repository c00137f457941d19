//! The PostgreSQL server of tests and soaks, run through the program of `duroxide-pg-server`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::step::cargo;

const PROGRAM: &[&str] = &["run", "--quiet", "--package", "duroxide-pg-server", "--"];

/// The folder of the server programs, which are installed if they are missing and we may.
///
/// # Errors
/// When there are none; the text says how to get them.
pub(crate) fn install() -> Result<String, String> {
    let output = cargo()
        .args(PROGRAM)
        .arg("install")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    let (printed, reason) = (last_line(&output.stdout), last_line(&output.stderr));
    if output.status.success() { Ok(printed) } else { Err(reason) }
}

fn last_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).lines().next_back().unwrap_or_default().to_owned()
}

/// A throw-away server, stopped and removed when this is dropped.
pub(crate) struct Server {
    program: Child,
    url: String,
}

impl Server {
    /// Starts a server.
    pub(crate) fn start() -> Result<Self, String> {
        let mut program = cargo()
            .args(PROGRAM)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cargo cannot be started: {error}"))?;
        let output = program.stdout.take().ok_or("the server program has no output")?;
        let mut url = String::new();
        BufReader::new(output).read_line(&mut url).map_err(|error| error.to_string())?;
        // Dropping it waits for a program that has failed.
        let server = Self { program, url: url.trim_end().to_owned() };
        if server.url.is_empty() {
            return Err("the PostgreSQL server did not start".to_owned());
        }
        Ok(server)
    }

    /// Where to connect to.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server stops when its input closes.
        drop(self.program.stdin.take());
        if let Err(error) = self.program.wait() {
            eprintln!("xtask: the PostgreSQL server cannot be waited for: {error}");
        }
    }
}
