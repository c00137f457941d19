//! Compares the stored figures with new counts.

use super::figures::{Count, Figures};

/// Tolerance for counts of the engine, which are deterministic.
const TOLERANCE: f64 = 0.02;
/// Tolerance for counts of a store: random tokens and threads change them a little.
const TOLERANCE_STORE: f64 = 0.06;
/// Tolerance under another compiler or machine, where only a large change is significant.
const TOLERANCE_ELSEWHERE: f64 = 0.25;

/// Prints all counts; an error names those that grew.
pub(super) fn all(stored: &Figures, found: &Figures) -> Result<(), String> {
    let same = stored.compiler == found.compiler;
    if !same {
        println!("figures are of {}, this is {}", stored.compiler, found.compiler);
    }
    let mut grown = Vec::new();
    for count in &found.counts {
        let verdict = judge(stored, count, tolerance(count, same));
        println!("{:<40} {:>12.1} {}", count.name, count.value, verdict.text());
        if verdict.is_failure() {
            grown.push(count.name.clone());
        }
    }
    for missing in stored.counts.iter().filter(|known| find(found, &known.name).is_none()) {
        grown.push(format!("{} is gone", missing.name));
    }
    if grown.is_empty() {
        return Ok(());
    }
    Err(format!(
        "gate: {}; make it cheaper, or store the new figures with 'cargo xtask gate --bless'",
        grown.join(", ")
    ))
}

fn tolerance(count: &Count, same_compiler: bool) -> f64 {
    match same_compiler {
        false => TOLERANCE_ELSEWHERE,
        true if count.name.starts_with("engine") => TOLERANCE,
        true => TOLERANCE_STORE,
    }
}

#[derive(Debug, PartialEq)]
enum Verdict {
    Same(f64),
    Grown(f64),
    Shrunk(f64),
    New,
}

impl Verdict {
    fn text(&self) -> String {
        match self {
            Self::Same(change) => format!("{:+.1} %", change * 100.0),
            Self::Grown(change) => format!("{:+.1} %  grown", change * 100.0),
            Self::Shrunk(change) => {
                format!("{:+.1} %  cheaper: store it with --bless", change * 100.0)
            }
            Self::New => "not stored yet: --bless".to_owned(),
        }
    }

    fn is_failure(&self) -> bool {
        matches!(self, Self::Grown(_) | Self::New)
    }
}

fn judge(stored: &Figures, count: &Count, tolerance: f64) -> Verdict {
    let Some(known) = find(stored, &count.name) else { return Verdict::New };
    let change = count.value / known.value.max(1.0) - 1.0;
    // A difference below one allocation or instruction is no change, whatever its share.
    let small = (count.value - known.value).abs() < 1.0;
    match change {
        _ if small => Verdict::Same(change),
        change if change > tolerance => Verdict::Grown(change),
        change if change < -tolerance => Verdict::Shrunk(change),
        change => Verdict::Same(change),
    }
}

fn find<'a>(figures: &'a Figures, name: &str) -> Option<&'a Count> {
    figures.counts.iter().find(|count| count.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(value: f64) -> Figures {
        let counts = vec![Count { name: "engine-step instructions".to_owned(), value }];
        Figures { compiler: "rustc 1".to_owned(), counts }
    }

    #[test]
    fn growth_beyond_the_tolerance_fails() {
        assert!(all(&figures(1000.0), &figures(1019.0)).is_ok());
        let error = all(&figures(1000.0), &figures(1021.0)).unwrap_err();
        assert!(error.contains("step instructions"), "{error}");
    }

    #[test]
    fn another_compiler_is_judged_more_mildly() {
        let mut elsewhere = figures(1200.0);
        elsewhere.compiler = "rustc 2".to_owned();
        assert!(all(&figures(1000.0), &elsewhere).is_ok());
        elsewhere.counts[0].value = 1300.0;
        assert!(all(&figures(1000.0), &elsewhere).is_err());
    }

    #[test]
    fn less_is_fine_and_what_is_unknown_is_not() {
        assert!(all(&figures(1000.0), &figures(500.0)).is_ok());
        let nothing = Figures { compiler: "rustc 1".to_owned(), counts: Vec::new() };
        assert!(all(&nothing, &figures(1.0)).is_err());
        assert!(all(&figures(1.0), &nothing).is_err());
    }
}
