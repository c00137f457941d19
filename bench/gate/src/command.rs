//! The command line of both programs: `NAME COUNT`, or nothing for a list.

use crate::{PROGRAMS, Program};

/// What is asked for.
#[derive(Debug)]
pub enum Request {
    /// The names of the programs with the counts to compare.
    List,
    /// One program.
    Run(&'static Program, u64),
}

/// Reads the command line.
///
/// # Errors
/// When there is no such program.
pub fn read() -> Result<Request, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, count] = arguments.as_slice() else { return Ok(Request::List) };
    let program = PROGRAMS.iter().find(|program| program.name == name);
    let program = program.ok_or_else(|| format!("no program {name}"))?;
    let count = count.parse().map_err(|error| format!("{count}: {error}"))?;
    Ok(Request::Run(program, count))
}

/// The list: name, smaller count, larger count, rounds.
pub fn list() -> String {
    let lines = PROGRAMS.iter();
    let lines = lines
        .map(|Program { name, few, many, rounds, .. }| format!("{name} {few} {many} {rounds}"));
    lines.collect::<Vec<_>>().join("\n")
}
