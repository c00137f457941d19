//! Runs one program and prints how many allocations its operations made.

use std::alloc::System;
use std::process::ExitCode;

use gate::command::{Request, list, read};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let done = read().and_then(|request| match request {
        Request::List => {
            println!("{}", list());
            Ok(())
        }
        Request::Run(program, count) => {
            let mut before = 0;
            (program.run)(count, &mut || before = calls())?;
            println!("{}", calls() - before);
            Ok(())
        }
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("allocations: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn calls() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}
