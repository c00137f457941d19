//! `cargo xtask bench [options]`: measures this project and its peers, and prints how they compare.

use crate::step::Step;

/// Runs the benchmarks; everything after the name of the command goes to them.
pub(crate) fn run() -> Result<(), String> {
    let options: Vec<String> = std::env::args().skip(2).collect();
    let mut args = vec![
        "run",
        "--quiet",
        "--release",
        "--manifest-path",
        "bench/Cargo.toml",
        "--target-dir",
        BUILT,
        "--package",
        "bench",
        "--",
    ];
    args.extend(options.iter().map(String::as_str));
    Step { name: "bench", cargo: &args, env: &[] }.run()
}

/// Where the benchmarks are built: not among the files of the project.
pub(crate) const BUILT: &str = "target/bench/build";
