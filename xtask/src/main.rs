//! Development commands: `cargo xtask help` lists them.

mod bench;
mod ci;
mod conformance_teeth;
mod deps;
mod fuzz;
mod gate;
mod help;
mod hostile;
mod linking;
mod metadata;
mod package;
mod postgres;
mod power;
mod soak;
mod step;
mod stress;
mod template;
mod test;
mod tidy;
mod tour;

use std::process::ExitCode;

fn main() -> ExitCode {
    let name = std::env::args().nth(1);
    let outcome = match name.as_deref() {
        Some("test") => test::run(),
        Some("tidy") => tidy::run(),
        Some("ci") => ci::run(),
        Some("deps") => deps::run(),
        Some("package") => package::run(),
        Some("template") => template::run(),
        Some("linking") => linking::run(),
        Some("bench") => bench::run(),
        Some("gate") => gate::run(),
        Some("stress") => stress::run(),
        Some("soak") => soak::run(),
        Some("power") => power::run(),
        Some("fuzz") => fuzz::run(),
        Some("hostile") => hostile::run(),
        Some("tour") => tour::run(),
        Some("conformance-teeth") => conformance_teeth::run(),
        None | Some("help" | "--help" | "-h") => help::run(),
        Some(unknown) => Err(format!("unknown command '{unknown}'; try 'cargo xtask help'")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}
