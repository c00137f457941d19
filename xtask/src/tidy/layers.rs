//! Layers of the core, as the tables of `ARCHITECTURE.md` claim them.
//!
//! The tables are the rules: a module uses exactly what its row lists. A use that is not listed is
//! a violation, and so is a listed use that does not occur, and a module without a row.

use super::layer_table::{self, Row};
use super::source::Source;
use super::used_paths::used_paths;
use super::violation::Violation;

const CORE: &str = "crates/core/src/";
const CLAIMS: &str = "ARCHITECTURE.md";
const ROOT_FILE: &str = "lib";
const PURE: &[&str] = &["model", "engine"];
const IMPURE: &[(&str, &str)] = &[
    ("tokio", "uses no async runtime"),
    ("SystemTime", "reads no clock"),
    ("Instant", "reads no clock"),
    ("async fn", "is not async"),
];

/// The code of the core and the tables agree.
pub(super) fn agree(sources: &[Source]) -> Vec<Violation> {
    let Some(claims) = sources.iter().find(|source| source.path == CLAIMS) else {
        return Vec::new();
    };
    let rows = layer_table::parse(&claims.lines);
    let mut found = Vec::new();
    let mut occurring = vec![Vec::new(); rows.len()];
    for source in sources {
        let Some(module) = module_of(source) else { continue };
        let Some(owner) = row_of(&rows, &module) else {
            let what = format!("module '{}' has no row in {CLAIMS}", module.join("::"));
            found.push(source.violation(1, what));
            continue;
        };
        for (line, path) in used_paths(source, &module) {
            let Some(used) = row_of(&rows, &path) else { continue };
            let Some(bound) = binding_row(&rows, owner, used) else { continue };
            let name = outermost(&rows, bound, used);
            if rows[bound].uses.contains(&name) {
                occurring[bound].push(name);
            } else {
                let module = &rows[bound].module;
                found.push(source.violation(line, format!("'{module}' may not use '{name}'")));
            }
        }
    }
    let unused = rows.iter().zip(&occurring).flat_map(|(row, occurring)| {
        let unused = row.uses.iter().filter(|name| !occurring.contains(name));
        unused.map(|name| {
            claims.violation(row.line, format!("'{}' does not use '{name}'", row.module))
        })
    });
    found.extend(unused);
    found
}

/// The model and the engine decide from what they are given: no clock, nothing async.
pub(super) fn pure(source: &Source) -> Vec<Violation> {
    let Some(module) = module_of(source) else { return Vec::new() };
    let Some(layer) = module.first().filter(|layer| PURE.contains(&layer.as_str())) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (line, code) in source.product_code() {
        for (word, why) in IMPURE.iter().filter(|(word, _)| has_word(code, word)) {
            found.push(source.violation(line, format!("'{word}': the {layer} {why}")));
        }
    }
    found
}

// The path of the module that a file of the core holds; the root of the crate has none.
fn module_of(source: &Source) -> Option<Vec<String>> {
    let inside = source.path.strip_prefix(CORE)?.strip_suffix(".rs")?;
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    (inside != ROOT_FILE).then(|| inside.split('/').map(str::to_owned).collect())
}

// The most specific row for a path.
fn row_of(rows: &[Row], path: &[String]) -> Option<usize> {
    let fits = |row: &Row| path.len() >= row.path.len() && path[..row.path.len()] == row.path[..];
    let fitting = rows.iter().enumerate().filter(|(_, row)| fits(row));
    fitting.max_by_key(|(_, row)| row.path.len()).map(|(index, _)| index)
}

// The row whose list decides about a use; none if a module uses itself or its own parent. A part of
// a module has the uses of the module, and lists only what it uses of the other parts.
fn binding_row(rows: &[Row], owner: usize, used: usize) -> Option<usize> {
    let (owner_path, used_path) = (&rows[owner].path, &rows[used].path);
    if owner_path.starts_with(used_path) {
        return None;
    }
    let is_other_module = owner_path[0] != used_path[0];
    if is_other_module { row_of(rows, &owner_path[..1]) } else { Some(owner) }
}

// The name under which a row lists a use: a part for another part, else the whole module.
fn outermost(rows: &[Row], bound: usize, used: usize) -> String {
    let used = &rows[used];
    if rows[bound].path[0] == used.path[0] { used.module.clone() } else { used.path[0].clone() }
}

fn has_word(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: &str = "\
| module | uses | contents |
|---|---|---|
| `model` | nothing | data |
| `engine` | `model` | replay |
| `runtime` | `engine`, `model`, `runtime::left` | all |

| module | uses | contents |
|---|---|---|
| `runtime::left` | nothing | a part |
| `runtime::right` | `runtime::left` | a part |
";

    // What is wrong, with code that makes every claim true beside it.
    fn violations(file: &str, code: &str) -> Vec<String> {
        let files = [
            ("engine/a.rs", "use crate::model::A;"),
            ("runtime/a.rs", "use crate::engine::A;\nuse super::left::B;\nuse crate::model::C;"),
            ("runtime/right/a.rs", "use crate::runtime::left::A;"),
        ];
        let mut sources = vec![Source::new(CLAIMS, TABLES)];
        let files = files.into_iter().chain([(file, code)]);
        sources.extend(files.map(|(file, code)| Source::new(&format!("{CORE}{file}"), code)));
        agree(&sources).iter().map(|violation| violation.what.clone()).collect()
    }

    #[test]
    fn a_module_may_use_what_its_row_lists() {
        assert_eq!(violations("engine/b.rs", "use crate::model::B;"), [""; 0]);
        assert_eq!(violations("runtime/left/b.rs", "use crate::engine::B;"), [""; 0]);
        assert_eq!(violations("runtime/left/b.rs", "use crate::runtime::node::B;"), [""; 0]);
        assert_eq!(violations("runtime/right/b.rs", "use super::super::left::B;"), [""; 0]);
    }

    #[test]
    fn a_use_that_is_not_listed_is_found() {
        let found = violations("model/b.rs", "use crate::{\n    engine::B,\n};");
        assert_eq!(found, ["'model' may not use 'engine'"]);
        let found = violations("engine/b.rs", "let a = crate::runtime::left::new();");
        assert_eq!(found, ["'engine' may not use 'runtime'"]);
        let found = violations("runtime/left/b.rs", "use super::super::right::B;");
        assert_eq!(found, ["'runtime::left' may not use 'runtime::right'"]);
        let found = violations("runtime/b.rs", "use super::right::B;");
        assert_eq!(found, ["'runtime' may not use 'runtime::right'"]);
    }

    #[test]
    fn a_claim_that_is_not_true_is_found() {
        let claims = TABLES.replace("| `model` | nothing |", "| `model` | `engine` |");
        let sources =
            [Source::new(CLAIMS, &claims), Source::new("crates/core/src/model/a.rs", "struct A;")];
        let found = agree(&sources);
        assert!(found.iter().any(|violation| violation.what == "'model' does not use 'engine'"));
        assert_eq!(found[0].line, 3);
    }

    #[test]
    fn a_module_without_a_row_is_found() {
        let found = violations("shiny/b.rs", "struct B;");
        assert_eq!(found, ["module 'shiny::b' has no row in ARCHITECTURE.md"]);
    }

    #[test]
    fn tests_and_other_crates_are_free() {
        let code = "#[cfg(test)]\nmod tests {\n    use crate::runtime::A;\n}\n";
        assert_eq!(violations("engine/b.rs", code), [""; 0]);
        let other = Source::new("crates/sqlite/src/engine/a.rs", "use crate::runtime::A;");
        assert!(agree(&[Source::new(CLAIMS, ""), other]).is_empty());
    }

    #[test]
    fn an_impure_model_or_engine_is_found() {
        for code in ["use tokio::sync::mpsc;", "SystemTime::now()", "pub async fn a() {}"] {
            for layer in PURE {
                let source = Source::new(&format!("{CORE}{layer}/a.rs"), code);
                assert_eq!(pure(&source).len(), 1, "{code}");
            }
            let elsewhere = Source::new("crates/core/src/runtime/a.rs", code);
            assert!(pure(&elsewhere).is_empty(), "{code}");
        }
        let code = "// no tokio here\nfn a() { let tokio_like = \"SystemTime\"; }";
        assert!(pure(&Source::new("crates/core/src/engine/a.rs", code)).is_empty());
    }
}
