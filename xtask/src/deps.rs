//! `cargo xtask deps`: dependencies keep the rules of `deny.toml` and the minimum Rust version.
//!
//! Covers licences, sources and duplicates, which need no network. Advisories need `cargo deny` and
//! its database: they are checked where both can be had, and the hosted CI has them.

mod licence;
mod rules;

use crate::metadata::Metadata;
use crate::step::{Step, announce, printed_by_cargo, root};
use rules::Rules;

/// Features of the facade that bring dependencies; without them it must not link these crates.
const OPTIONAL: &[&str] = &["rusqlite", "tokio-postgres", "tracing-subscriber"];

/// Checks every dependency and prints each violation.
pub(crate) fn run() -> Result<(), String> {
    let rules = Rules::read(&root().join("deny.toml"))?;
    let metadata = Metadata::read()?;
    let mut violations = rules.violations(&metadata);
    violations.extend(linked_without_features()?);
    for violation in &violations {
        println!("deps: {violation}");
    }
    if !violations.is_empty() {
        return Err(format!("deps found {} violation(s)", violations.len()));
    }
    announce(&format!("deps: {} dependencies keep the rules", metadata.dependencies().count()));
    check_advisories()
}

/// Checks the dependencies against known advisories, if `cargo deny` and its database are here.
fn check_advisories() -> Result<(), String> {
    let is_installed = printed_by_cargo(&["deny", "--version"]).is_ok();
    if !is_installed {
        announce("deps: advisories not checked: cargo-deny is not installed");
        return Ok(());
    }
    if let Err(reason) = printed_by_cargo(&["deny", "fetch", "db"]) {
        announce(&format!("deps: advisories not checked: no database ({})", reason.trim()));
        return Ok(());
    }
    let check = ["deny", "check", "--disable-fetch", "advisories"];
    Step { name: "deps: advisories", cargo: &check, env: &[] }.run()
}

/// Optional dependencies that the facade links although its features are off.
fn linked_without_features() -> Result<Vec<String>, String> {
    let facade = ["--package", "duroxide", "--no-default-features"];
    let tree = [&["tree", "--edges", "normal", "--prefix", "none"][..], &facade].concat();
    let tree = printed_by_cargo(&tree)?;
    let linked: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let wrong = OPTIONAL.iter().filter(|name| linked.contains(*name));
    Ok(wrong.map(|name| format!("duroxide links {name} without its features")).collect())
}
