//! The command line of both programs: `NAME COUNT`, or no arguments for a list.

use crate::{PROGRAMS, Program};

/// A parsed command line.
#[derive(Debug)]
pub enum Request {
    /// Print the programs with the counts to compare.
    List,
    /// Run one program this many times.
    Run(&'static Program, u64),
}

/// Reads the command line.
///
/// # Errors
/// When the program is unknown or the count is not a number.
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
