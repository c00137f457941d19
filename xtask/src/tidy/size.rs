//! Sizes: what does not fit on a few screens is two things.

use super::source::Source;
use super::violation::Violation;

const LINES_MAX: usize = 500;
const COLUMNS_MAX: usize = 100;

/// A file of Rust has at most 500 lines.
pub(super) fn lines_per_file(source: &Source) -> Vec<Violation> {
    let lines = source.lines.len();
    if !source.is_rust() || lines <= LINES_MAX {
        return Vec::new();
    }
    vec![source.violation(lines, format!("{lines} lines, at most {LINES_MAX} are allowed"))]
}

/// A line of Rust has at most 100 columns.
pub(super) fn columns_per_line(source: &Source) -> Vec<Violation> {
    if !source.is_rust() {
        return Vec::new();
    }
    let widths = source.lines.iter().map(|line| line.chars().count()).enumerate();
    widths
        .filter(|(_, width)| *width > COLUMNS_MAX)
        .map(|(index, width)| {
            let what = format!("{width} columns, at most {COLUMNS_MAX} are allowed");
            source.violation(index + 1, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_501_lines_is_too_long() {
        assert!(lines_per_file(&Source::new("a.rs", &"\n".repeat(LINES_MAX))).is_empty());
        let found = lines_per_file(&Source::new("a.rs", &"\n".repeat(LINES_MAX + 1)));
        assert_eq!(found[0].to_string(), "a.rs:501: 501 lines, at most 500 are allowed");
    }

    #[test]
    fn a_line_of_101_columns_is_too_wide() {
        let fits = "é".repeat(COLUMNS_MAX);
        assert!(columns_per_line(&Source::new("a.rs", &fits)).is_empty());
        let wide = format!("\n{}", "x".repeat(COLUMNS_MAX + 1));
        let found = columns_per_line(&Source::new("a.rs", &wide));
        assert_eq!(found[0].to_string(), "a.rs:2: 101 columns, at most 100 are allowed");
    }

    #[test]
    fn prose_may_be_long() {
        let text = "x\n".repeat(1000) + &"y".repeat(200);
        assert!(lines_per_file(&Source::new("a.md", &text)).is_empty());
        assert!(columns_per_line(&Source::new("a.md", &text)).is_empty());
    }
}
