//! Runs every program at two counts: the difference is the cost of its operations.

use std::path::Path;
use std::process::Command;

use super::figures::{Count, Figures, compiler};
use super::valgrind;

/// Counts everything.
pub(super) fn all(folder: &Path) -> Result<Figures, String> {
    let instructions = folder.join("instructions");
    let allocations = folder.join("allocations");
    let list = output(&mut Command::new(&instructions))?;
    let mut counts = Vec::new();
    for line in list.lines() {
        let program = Program::read(line)?;
        let value = program.per_operation(|count| valgrind::instructions(&instructions, count))?;
        counts.push(Count { name: format!("{} instructions", program.name), value });
        let value = program.per_operation(|arguments| {
            let text = output(Command::new(&allocations).args(arguments))?;
            text.trim().parse().map_err(|error| format!("{text}: {error}"))
        })?;
        counts.push(Count { name: format!("{} allocations", program.name), value });
    }
    Ok(Figures { compiler: compiler()?, counts })
}

struct Program<'a> {
    name: &'a str,
    few: u64,
    many: u64,
    rounds: u64,
}

impl<'a> Program<'a> {
    fn read(line: &'a str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, few, many, rounds] = words.as_slice() else {
            return Err(format!("not a program: {line}"));
        };
        let number = |text: &str| text.parse::<u64>().map_err(|error| format!("{text}: {error}"));
        let (few, many, rounds) = (number(few)?, number(many)?, number(rounds)?);
        Ok(Self { name, few, many, rounds })
    }

    fn per_operation(&self, count: impl Fn(&[&str]) -> Result<u64, String>) -> Result<f64, String> {
        let (mut few, mut many) = (u64::MAX, u64::MAX);
        for _round in 0..self.rounds {
            few = few.min(count(&[self.name, &self.few.to_string()])?);
            many = many.min(count(&[self.name, &self.many.to_string()])?);
        }
        Ok(many.saturating_sub(few) as f64 / (self.many - self.few) as f64)
    }
}

/// The standard output of a program.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{command:?} failed ({}): {stderr}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
