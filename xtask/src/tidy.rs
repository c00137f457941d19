//! `cargo xtask tidy`: rules of style that a machine can check.
//!
//! Every rule is a function from a [`Source`], or from all of them, to violations, with tests that
//! show it failing.

mod layer_table;
mod layers;
mod lexer;
mod machine;
mod named_tests;
mod shape;
mod size;
mod source;
mod used_paths;
mod violation;
mod words;

use std::time::Instant;

use crate::step::{announce, root};
use source::Source;
use violation::Violation;

const RULES: &[fn(&Source) -> Vec<Violation>] = &[
    size::lines_per_file,
    size::columns_per_line,
    shape::begins_with_docs,
    shape::roots_hold_no_code,
    words::no_unfinished_code,
    words::no_unwrap,
    words::no_banners,
    words::no_emoji,
    words::no_vague_words,
    layers::pure,
    machine::no_absolute_paths,
    machine::standard_registry_only,
];

/// Checks every file of the workspace; prints `path:line: what` for each violation.
pub(crate) fn run() -> Result<(), String> {
    announce("tidy: checking the source");
    let started = Instant::now();
    let sources = source::load_all(&root())?;
    let mut violations: Vec<Violation> = sources.iter().flat_map(check).collect();
    violations.extend(layers::agree(&sources));
    violations.extend(named_tests::exist(&sources));
    for violation in &violations {
        println!("{violation}");
    }
    if !violations.is_empty() {
        return Err(format!("tidy found {} violation(s)", violations.len()));
    }
    let elapsed = started.elapsed().as_secs_f64();
    announce(&format!("tidy: {} files in {elapsed:.1} s", sources.len()));
    Ok(())
}

fn check(source: &Source) -> Vec<Violation> {
    RULES.iter().flat_map(|rule| rule(source)).collect()
}
