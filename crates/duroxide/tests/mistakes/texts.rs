//! The stored texts. `DUROXIDE_WRITE_TEXTS=1 cargo test -p duroxide --test mistakes` writes them
//! again.

use std::fs;
use std::path::PathBuf;

/// Where the texts are.
pub(crate) fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "mistakes", "texts"].iter().collect()
}

/// Demands that a mistake is reported with the stored text. Lines of code, which move, are not
/// part of it.
#[track_caller]
pub(crate) fn assert_text(name: &str, said: &str) {
    let path = folder().join(format!("{name}.txt"));
    let said = format!("{}\n", without_lines(said).trim_end());
    if std::env::var_os("DUROXIDE_WRITE_TEXTS").is_some() {
        fs::write(path, said).unwrap();
        return;
    }
    let stored = fs::read_to_string(path).unwrap_or_default();
    assert_eq!(said, stored, "the text of '{name}' has changed");
}

/// The text with `LINE:COLUMN` for places in code.
fn without_lines(text: &str) -> String {
    let mut parts = text.split(".rs:");
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':');
        let is_masked = rest.len() == part.len();
        masked.push_str(if is_masked { ".rs:" } else { ".rs:LINE:COLUMN" });
        masked.push_str(rest);
    }
    masked
}

/// The text with `#` for every number, for texts with random ones.
pub(crate) fn without_numbers(text: &str) -> String {
    let mut masked = String::new();
    for letter in without_lines(text).chars() {
        match letter.is_ascii_digit() {
            true if masked.ends_with('#') => {}
            true => masked.push('#'),
            false => masked.push(letter),
        }
    }
    masked
}
