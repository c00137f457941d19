//! `cargo xtask bench [options]`: measures this project and its peers, and prints how they compare.

use crate::step::Step;

/// Where the benchmarks are built, apart from the files of the project.
pub(crate) const BUILT: &str = "target/bench/build";

/// Runs the benchmarks; everything after the name of the command goes to them.
pub(crate) fn run() -> Result<(), String> {
    let options: Vec<String> = std::env::args().skip(2).collect();
    let mut args = cargo("run", "bench", "release");
    args.push("--");
    args.extend(options.iter().map(String::as_str));
    Step { name: "bench", cargo: &args, env: &[] }.run()
}

/// Arguments for a command of cargo on a package of the benchmarks, as it is measured.
pub(crate) fn cargo<'a>(command: &'a str, package: &'a str, profile: &'a str) -> Vec<&'a str> {
    let mut args = vec![command, "--quiet", "--profile", profile];
    args.extend(["--manifest-path", "bench/Cargo.toml", "--target-dir", BUILT]);
    args.extend(["--package", package]);
    args
}
