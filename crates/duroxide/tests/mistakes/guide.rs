//! The table of mistakes in the guide quotes the texts as they are.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::texts;

const GUIDE: &str = include_str!("../../docs/testing.md");

/// Begins the table.
const HEADING: &str = "| mistake | caught | text |";

fn compile_errors() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "macros", "tests", "compile_fail", "cases"].iter().collect()
}

/// The texts of a folder by their names, each in one line.
fn stored(folder: &Path, ending: &str) -> Vec<(String, String)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|it| it == ending));
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        let words: Vec<&str> = text.split_whitespace().collect();
        (path.file_stem().unwrap().to_string_lossy().into_owned(), words.join(" "))
    };
    files.map(read).collect()
}

#[test]
fn the_guide_quotes_each_text() {
    let rows = GUIDE.split_once(HEADING).expect("the guide has the table").1;
    let rows = rows.lines().skip(2).take_while(|line| line.starts_with('|'));
    let quoted: Vec<String> = rows
        .map(|row| {
            let text = row.trim_end_matches([' ', '|']).rsplit("| ").next().unwrap();
            // Two marks stand around a text that contains one.
            let inside = text.strip_prefix("`` ").and_then(|text| text.strip_suffix(" ``"));
            inside.unwrap_or_else(|| text.trim_matches('`')).to_owned()
        })
        .collect();
    assert!(quoted.len() > 10, "{quoted:?}");
    let at_run_time = stored(&texts::folder(), "txt");
    let at_compile_time = stored(&compile_errors(), "stderr");
    for quote in &quoted {
        let mut all = at_run_time.iter().chain(&at_compile_time);
        assert!(all.any(|(_, text)| text.contains(quote.as_str())), "no text contains: {quote}");
    }
    let is_quoted = |text: &str| quoted.iter().any(|quote| text.contains(quote.as_str()));
    let unquoted: BTreeSet<&String> =
        at_run_time.iter().filter(|(_, text)| !is_quoted(text)).map(|(name, _)| name).collect();
    assert!(unquoted.is_empty(), "the guide does not mention {unquoted:?}");
}
