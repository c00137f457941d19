//! `cargo xtask power`: power cuts, kills at every write point, and kills of a whole server.

use std::process::{Command, Stdio};

use crate::step::{Step, announce};

const POWER: &[&str] = &["run", "--package", "duroxide-soak", "--bin", "soak", "--", "power"];

/// What is part of the tests on SQLite: cuts, the planted defects that such cuts must find, and
/// some of the kill points.
const SHORT_ON_SQLITE: &[&[&str]] = &[
    &["--cuts", "40"],
    &["--cuts", "40", "--defect", "early-answers"],
    &["--cuts", "40", "--defect", "lost-checkpoints"],
    &["--kill-points", "--every", "25"],
];
/// And on PostgreSQL.
const SHORT_ON_POSTGRES: &[&[&str]] = &[
    &["--store", "postgres", "--kills", "4"],
    &["--store", "postgres", "--kills", "20", "--defect", "early-answers"],
];

/// Runs with the arguments of the command line.
pub(crate) fn run() -> Result<(), String> {
    install_recorder()?;
    let given: Vec<String> = std::env::args().skip(2).collect();
    power(&given.iter().map(String::as_str).collect::<Vec<&str>>())
}

/// Less than a minute on SQLite. Needs the recorder, and a machine that lets it work.
pub(crate) fn short_on_sqlite() -> Result<(), String> {
    if !succeeds(&["-f", "-o", "/dev/null", "true"]) {
        announce("NOT RUN: power cuts and kill points; this machine lets no process be traced");
        return Ok(());
    }
    SHORT_ON_SQLITE.iter().try_for_each(|args| power(args))
}

/// A few kills of a server.
pub(crate) fn short_on_postgres() -> Result<(), String> {
    SHORT_ON_POSTGRES.iter().try_for_each(|args| power(args))
}

fn power(given: &[&str]) -> Result<(), String> {
    Step { name: "power", cargo: &[POWER, given].concat(), env: &[] }.run()
}

/// Finds `strace`, which records and kills nodes; installs Debian's package if it is missing and
/// we may.
///
/// # Errors
/// When it is missing and cannot be installed; the text says what to do.
pub(crate) fn install_recorder() -> Result<(), String> {
    if has_recorder() {
        return Ok(());
    }
    announce("set-up: strace, which is missing");
    for args in [&["update"][..], &["install", "-y", "--no-install-recommends", "strace"]] {
        let status = Command::new("sh")
            .args(["-c", AS_ROOT, "as-root", "apt-get"])
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        if !status.is_ok_and(|status| status.success()) {
            break;
        }
    }
    if has_recorder() {
        return Ok(());
    }
    Err("strace is missing and could not be installed: install the package 'strace'".to_owned())
}

/// Runs its arguments with the right to install, if we have it without being asked.
const AS_ROOT: &str = r#"
if [ "$(id -u)" = 0 ]; then exec "$@"; fi
exec sudo -n --preserve-env=DEBIAN_FRONTEND "$@"
"#;

fn has_recorder() -> bool {
    succeeds(&["-V"])
}

fn succeeds(args: &[&str]) -> bool {
    let status = Command::new("strace")
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}
