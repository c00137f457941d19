//! Measures the command `duroxide` from its start to its end.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use bench_harness::postgres::schema;
use bench_harness::stats;

use crate::heavy::Store;

/// Runs of the command.
const RUNS: usize = 20;

/// Commands that only read, as an operator writes them.
const LINES: [&[&str]; 4] = [
    &["list", "status:failed name:Order*", "-o", "json"],
    &["list", "error~refused created>-7d", "-o", "json"],
    &["list", "-o", "json"],
    &["count", "status:failed"],
];

/// A row for each command.
pub(super) fn measure(
    program: &Path,
    store: Store,
    (folder, server): (&Path, Option<&str>),
) -> Result<String, String> {
    let mut table = "| command | median | longest |\n|---|---|---|\n".to_owned();
    for line in LINES {
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let mut command = Command::new(program);
            command.args(line);
            match (store, server) {
                (Store::Postgres, Some(server)) => {
                    command.args(["--store", server, "--schema", &schema(folder)]);
                }
                _ => {
                    let file = folder.join("bench.db");
                    command.args(["--store", &format!("sqlite:{}", file.display())]);
                }
            }
            let begun = Instant::now();
            let output = command.output().map_err(|error| error.to_string())?;
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            if !output.status.success() || output.stdout.is_empty() {
                return Err(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
        let longest = times.iter().copied().fold(0.0, f64::max);
        let shown = line.iter().map(|word| match word.contains([' ', '*', '>']) {
            true => format!("'{word}'"),
            false => (*word).to_owned(),
        });
        let shown = shown.collect::<Vec<_>>().join(" ");
        let median = stats::median(&times);
        table.push_str(&format!("| `duroxide {shown}` | {median:.1} ms | {longest:.1} ms |\n"));
    }
    Ok(table)
}

/// Builds the command as it is released, beside this program.
pub(super) fn build() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let cargo = std::env::var("CARGO").unwrap_or_else(|_unset| "cargo".to_owned());
    let target = crate::driver::target_folder().join("command");
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--release", "--package", "duroxide-cli", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .status()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    match status.success() {
        true => Ok(target.join("release/duroxide")),
        false => Err(format!("the command cannot be built ({status})")),
    }
}
