//! Long runs: `cargo xtask fuzz --seconds N [--first-seed S] [--target NAME] [--grow]`.
//!
//! `--seed S` reads the input of one seed and prints it. `--grow` keeps inputs that led to answers
//! that no input before had.

mod args;
mod stores;

use std::process::ExitCode;
use std::time::Duration;

use args::Args;
use duroxide_fuzz::{Runner, TARGETS, Target, keep};

fn main() -> ExitCode {
    let outcome = Args::read(std::env::args().skip(1)).and_then(|args| run(&args));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("fuzz: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let targets: Vec<&'static Target> =
        TARGETS.iter().filter(|target| args.wants(target.name)).collect();
    let stores = stores::STORES.iter().filter(|store| args.wants(store)).count();
    let parts = targets.len() + stores;
    if parts == 0 {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        return Err(format!("use --target with {names:?} or {:?}", stores::STORES));
    }
    if let Some(seed) = args.seed {
        return targets.iter().try_for_each(|target| replay(target, seed));
    }
    let share = args.time / u32::try_from(parts).unwrap_or(u32::MAX);
    for target in targets {
        fuzz(target, args, share)?;
    }
    stores::run(args, share)
}

/// Reads the input of one seed.
fn replay(target: &'static Target, seed: u64) -> Result<(), String> {
    let mut runner = Runner::new(target)?;
    println!("{}: {:?}", target.name, String::from_utf8_lossy(&runner.input(seed)));
    let run = runner.run(seed, 1, Duration::MAX).map_err(|failure| failure.to_string())?;
    println!("{}: read {} input", target.name, run.inputs);
    Ok(())
}

fn fuzz(target: &'static Target, args: &Args, time: Duration) -> Result<(), String> {
    let mut runner = Runner::new(target)?;
    let run = runner.run(args.first_seed, u64::MAX, time);
    let run = run.map_err(|failure| failure.to_string())?;
    println!(
        "{}: {} inputs from {} of the corpus, seeds {} to {}, {} different answers",
        target.name,
        run.inputs,
        runner.corpus_size(),
        args.first_seed,
        run.next_seed.saturating_sub(1),
        run.answers
    );
    if args.grow {
        for (seed, input) in run.new {
            keep(target, &format!("seed-{seed}.txt"), &input)?;
        }
    }
    Ok(())
}
