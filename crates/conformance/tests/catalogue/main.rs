//! The catalogue contains every validation of 0.1.32 and every validation in this crate.

mod decorator;
mod report;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use duroxide_conformance::all;

// Every function of the suite of 0.1.32, as "category name".
const CONTRACT_NAMES: &str = include_str!("contract_names.txt");

fn catalogued() -> BTreeSet<String> {
    all().iter().map(|validation| format!("{} {}", validation.category, validation.name)).collect()
}

fn category(line: &str) -> &str {
    line.split(' ').next().unwrap_or(line)
}

#[test]
fn every_validation_of_the_published_suite_is_in_the_catalogue() {
    let catalogued = catalogued();
    let missing: Vec<_> =
        CONTRACT_NAMES.lines().filter(|line| !catalogued.contains(*line)).collect();
    assert!(missing.is_empty(), "not in the catalogue: {missing:#?}");
}

#[test]
fn no_name_is_listed_twice() {
    assert_eq!(catalogued().len(), all().len());
}

#[test]
fn every_public_function_of_a_category_is_in_the_catalogue() {
    let catalogued = catalogued();
    let categories: BTreeSet<_> =
        CONTRACT_NAMES.lines().map(category).chain(["extensions"]).collect();
    for category in categories {
        let written = public_functions(category);
        let missing: Vec<_> = written
            .iter()
            .filter(|name| !catalogued.contains(&format!("{category} {name}")))
            .collect();
        assert!(missing.is_empty(), "{category} does not list {missing:?}");
    }
}

/// Names of the public async functions in the file or the folder of a category.
fn public_functions(category: &str) -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let file = source.join(format!("{category}.rs"));
    let files = if file.exists() { vec![file] } else { files_in(&source.join(category)) };
    let mut names = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let after = text.lines().filter_map(|line| line.strip_prefix("pub async fn "));
        names.extend(after.map(|rest| rest.split(['<', '(']).next().unwrap().to_owned()));
    }
    names
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}
