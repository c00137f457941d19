//! Layers of the core: `model <- context <- engine`, `model <- providers <- client`, and `runtime`
//! uses all.

use super::source::Source;
use super::violation::Violation;

const CORE: &str = "crates/core/src/";
// Bounds are constants: every layer but the lowest may use them.
const LIMITS: &str = "runtime::limits";
const LOWEST: &str = "model";
// What one file may use although its layer may not, because a public path wants it there.
const EXCEPTIONS: &[(&str, &str)] =
    &[("crates/core/src/providers/instrumented.rs", "runtime::observability")];
const IMPURE: &[(&str, &str)] = &[
    ("tokio", "the engine uses no async runtime"),
    ("SystemTime", "the engine reads no clock"),
    ("async fn", "the engine is not async"),
];

struct Layer {
    name: &'static str,
    forbidden: &'static [&'static str],
}

const LAYERS: &[Layer] = &[
    Layer { name: "model", forbidden: &["context", "engine", "providers", "client", "runtime"] },
    Layer { name: "context", forbidden: &["engine", "client", "runtime"] },
    Layer { name: "engine", forbidden: &["client", "runtime"] },
    Layer { name: "providers", forbidden: &["context", "engine", "client", "runtime"] },
    Layer { name: "client", forbidden: &["context", "engine", "runtime"] },
];

/// A layer uses only what stands left of it.
pub(super) fn respected(source: &Source) -> Vec<Violation> {
    let Some(layer) = layer_of(source) else { return Vec::new() };
    let used = crate_paths(source).into_iter();
    let excepted = |path: &str| EXCEPTIONS.contains(&(source.path.as_str(), path));
    used.filter(|(_, path)| layer.forbids(path) && !excepted(path))
        .map(|(line, path)| {
            source.violation(line, format!("layer '{}' may not use 'crate::{path}'", layer.name))
        })
        .collect()
}

/// The engine decides from what it is given: no runtime, no clock, no async functions.
pub(super) fn engine_is_pure(source: &Source) -> Vec<Violation> {
    if layer_of(source).is_none_or(|layer| layer.name != "engine") {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (line, code) in source.product_code() {
        for (word, why) in IMPURE.iter().filter(|(word, _)| has_word(code, word)) {
            found.push(source.violation(line, format!("'{word}': {why}")));
        }
    }
    found
}

fn layer_of(source: &Source) -> Option<&'static Layer> {
    let inside = source.path.strip_prefix(CORE)?;
    let name = inside.split(['/', '.']).next()?;
    LAYERS.iter().find(|layer| layer.name == name)
}

impl Layer {
    fn forbids(&self, path: &str) -> bool {
        let first = path.split("::").next().unwrap_or(path);
        let is_open = path == LIMITS && self.name != LOWEST;
        !is_open && self.forbidden.contains(&first)
    }
}

fn has_word(code: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

// Everything named after `crate::`, groups unfolded, cut to its first two parts.
fn crate_paths(source: &Source) -> Vec<(usize, String)> {
    let mut text = String::new();
    let mut line_starts = Vec::new();
    for (line, code) in source.product_code() {
        line_starts.push((text.len(), line));
        text.push_str(code);
        text.push('\n');
    }
    let line_at = |at: usize| {
        let after = line_starts.partition_point(|(start, _)| *start <= at);
        line_starts[after - 1].1
    };
    let mut paths = Vec::new();
    for (at, root) in text.match_indices("crate::") {
        let begin = at + root.len();
        let mut unfolded = Vec::new();
        unfold(&text[begin..], begin, "", &mut unfolded);
        paths.extend(unfolded.into_iter().map(|(at, path)| (line_at(at), path)));
    }
    paths
}

// Reads one tree of a `use`, or one path in code; returns how many bytes it took.
fn unfold(text: &str, at: usize, prefix: &str, found: &mut Vec<(usize, String)>) -> usize {
    let name_len = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(name_len);
    let path = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}::{name}") };
    if name.is_empty() {
        return unfold_group(text, at, prefix, found);
    }
    let is_deep_enough = !prefix.is_empty();
    match rest.strip_prefix("::") {
        Some(inner) if !is_deep_enough => {
            name_len + 2 + unfold(inner, at + name_len + 2, &path, found)
        }
        Some(inner) => {
            found.push((at, path));
            // What lies deeper is skipped, but its length is needed.
            name_len + 2 + unfold(inner, at, "", &mut Vec::new())
        }
        None => {
            found.push((at, path));
            name_len
        }
    }
}

fn unfold_group(text: &str, at: usize, prefix: &str, found: &mut Vec<(usize, String)>) -> usize {
    if !text.starts_with('{') {
        // A glob: everything of the prefix.
        found.push((at, prefix.to_owned()));
        return 1.min(text.len());
    }
    let mut taken = 1;
    while let Some(next) = text[taken..].chars().next() {
        match next {
            '}' => return taken + 1,
            _ if next.is_alphanumeric() || "_{*".contains(next) => {
                taken += unfold(&text[taken..], at + taken, prefix, found);
            }
            _ => taken += next.len_utf8(),
        }
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_layer(layer: &str, code: &str) -> Vec<String> {
        let source = Source::new(&format!("{CORE}{layer}/a.rs"), code);
        respected(&source).iter().map(|violation| violation.what.clone()).collect()
    }

    #[test]
    fn each_layer_may_use_what_stands_left_of_it() {
        for (layer, used) in [
            ("model", "clock"),
            ("context", "model"),
            ("context", "providers"),
            ("engine", "context"),
            ("providers", "model"),
            ("client", "providers"),
            ("runtime", "engine"),
        ] {
            assert_eq!(in_layer(layer, &format!("use crate::{used}::A;")), [""; 0], "{layer}");
        }
    }

    #[test]
    fn no_layer_may_use_what_stands_right_of_it() {
        for layer in LAYERS {
            for used in layer.forbidden {
                let found = in_layer(layer.name, &format!("use crate::{used}::A;"));
                let expected = format!("layer '{}' may not use 'crate::{used}::A'", layer.name);
                assert_eq!(found, [expected]);
            }
        }
    }

    #[test]
    fn limits_are_open_to_all_but_the_model() {
        assert!(!in_layer(LOWEST, "use crate::runtime::limits::MAX;").is_empty());
        for layer in LAYERS.iter().filter(|layer| layer.name != LOWEST) {
            assert!(in_layer(layer.name, "use crate::runtime::limits::MAX;").is_empty());
            assert!(in_layer(layer.name, "use crate::runtime::{limits::MAX};").is_empty());
            assert!(!in_layer(layer.name, "use crate::runtime::{limits, options};").is_empty());
        }
    }

    #[test]
    fn an_exception_holds_for_one_file_and_one_path() {
        for (file, used) in EXCEPTIONS {
            let code = format!("use crate::{used}::A;");
            assert!(respected(&Source::new(file, &code)).is_empty());
            let elsewhere = Source::new("crates/core/src/providers/a.rs", &code);
            assert_eq!(respected(&elsewhere).len(), 1);
            assert_eq!(respected(&Source::new(file, "use crate::client::A;")).len(), 1);
        }
    }

    #[test]
    fn groups_and_paths_in_code_are_seen() {
        let code = "use crate::{\n    model::{Event, a::B},\n    runtime::Options,\n};\n";
        let source = Source::new("crates/core/src/engine/a.rs", code);
        let found = respected(&source);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].line, 3);
        assert_eq!(in_layer("engine", "let a = crate::client::Client::new();").len(), 1);
        assert_eq!(in_layer("engine", "use crate::runtime::*;").len(), 1);
    }

    #[test]
    fn the_file_beside_the_folder_belongs_to_the_layer() {
        let source = Source::new("crates/core/src/engine.rs", "use crate::client::A;");
        assert_eq!(respected(&source).len(), 1);
    }

    #[test]
    fn tests_and_other_crates_are_free() {
        let code = "#[cfg(test)]\nmod tests {\n    use crate::runtime::A;\n}\n";
        assert!(in_layer("engine", code).is_empty());
        let other = Source::new("crates/sqlite/src/engine/a.rs", "use crate::runtime::A;");
        assert!(respected(&other).is_empty());
    }

    #[test]
    fn an_impure_engine_is_found() {
        for code in ["use tokio::sync::mpsc;", "SystemTime::now()", "pub async fn a() {}"] {
            let source = Source::new("crates/core/src/engine/a.rs", code);
            assert_eq!(engine_is_pure(&source).len(), 1, "{code}");
            let elsewhere = Source::new("crates/core/src/runtime/a.rs", code);
            assert!(engine_is_pure(&elsewhere).is_empty(), "{code}");
        }
    }

    #[test]
    fn a_pure_engine_passes() {
        let code = "// no tokio here\nfn a() { let tokio_like = \"SystemTime\"; }";
        let source = Source::new("crates/core/src/engine/a.rs", code);
        assert!(engine_is_pure(&source).is_empty());
    }
}
