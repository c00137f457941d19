//! A file as the rules see it: its lines, what of them is code, and what of that is test code.

use std::fs;
use std::path::Path;

use super::lexer::{self, Line};
use super::violation::Violation;

const EXTENSIONS: &[&str] = &["rs", "md", "toml", "lock", "sql", "yml"];
const UNREAD_DIRECTORIES: &[&str] = &["target", ".git"];
const TEST_DIRECTORIES: &[&str] = &["tests", "examples", "benches"];

/// One file.
#[derive(Debug)]
pub(super) struct Source {
    /// Path from the root of the workspace, with `/` between its parts.
    pub(super) path: String,
    /// The text, line by line.
    pub(super) lines: Vec<String>,
    /// Code and comments of each line; empty for files that are not Rust.
    pub(super) lexed: Vec<Line>,
    /// Whether each line is test code; empty for files that are not Rust.
    pub(super) in_test: Vec<bool>,
}

impl Source {
    /// Reads `text` as the content of `path`.
    pub(super) fn new(path: &str, text: &str) -> Self {
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let lexed = if is_rust(path) { lexer::lex(text) } else { Vec::new() };
        let in_test =
            if is_test_file(path) { vec![true; lexed.len()] } else { lexer::test_lines(&lexed) };
        Self { path: path.to_owned(), lines, lexed, in_test }
    }

    /// Whether the file holds Rust.
    pub(super) fn is_rust(&self) -> bool {
        is_rust(&self.path)
    }

    /// Last part of the path.
    pub(super) fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// A violation in this file.
    pub(super) fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation { path: self.path.clone(), line, what: what.into() }
    }

    /// Lines of code with their numbers, test code included.
    pub(super) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lexed.iter().enumerate().map(|(index, line)| (index + 1, line.code.as_str()))
    }

    /// Lines of code with their numbers, without test code.
    pub(super) fn product_code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code().zip(&self.in_test).filter(|(_, in_test)| !**in_test).map(|(line, _)| line)
    }

    /// Lines of comments with their numbers.
    pub(super) fn comments(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lexed.iter().enumerate().map(|(index, line)| (index + 1, line.comment.as_str()))
    }
}

/// Every file of the workspace that has rules.
pub(super) fn load_all(root: &Path) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    load_directory(root, root, &mut sources)?;
    mark_test_modules(&mut sources);
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(sources)
}

// A file that is declared as `#[cfg(test)] mod name;` is test code as a whole.
fn mark_test_modules(sources: &mut [Source]) {
    let modules: Vec<String> = sources.iter().flat_map(declared_test_modules).collect();
    for source in sources {
        let is_declared = modules.iter().any(|module| {
            let rest = source.path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
        });
        if is_declared {
            source.in_test.fill(true);
        }
    }
}

// Paths, without extension, of the test modules that live in files of their own.
fn declared_test_modules(source: &Source) -> Vec<String> {
    let directory = source.path.strip_suffix(source.file_name()).unwrap_or("");
    let home = match source.file_name() {
        "lib.rs" | "main.rs" | "mod.rs" => directory.to_owned(),
        file => format!("{directory}{}/", file.trim_end_matches(".rs")),
    };
    let mut modules = Vec::new();
    let mut named_path = None;
    for (line, _) in source.lines.iter().zip(&source.in_test).filter(|(_, in_test)| **in_test) {
        let line = line.trim();
        if let Some(file) = path_attribute(line) {
            named_path = Some(format!("{directory}{}", file.trim_end_matches(".rs")));
        } else if let Some(name) = declared_module(line) {
            modules.push(named_path.take().unwrap_or_else(|| format!("{home}{name}")));
        }
    }
    modules
}

fn path_attribute(line: &str) -> Option<&str> {
    line.strip_prefix("#[path = \"")?.strip_suffix("\"]")
}

fn declared_module(line: &str) -> Option<&str> {
    let (visibility, name) = line.strip_suffix(';')?.rsplit_once("mod ")?;
    (visibility.is_empty() || visibility.starts_with("pub")).then_some(name)
}

fn load_directory(root: &Path, directory: &Path, found: &mut Vec<Source>) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", directory.display());
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().map_err(failed)?.is_dir() {
            if !UNREAD_DIRECTORIES.contains(&name.as_str()) {
                load_directory(root, &path, found)?;
            }
        } else if has_rules(&path) {
            let text = fs::read_to_string(&path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            found.push(Source::new(&relative(root, &path), &text));
        }
    }
    Ok(())
}

fn has_rules(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    let is_ci_script = path.ends_with(".ci/run");
    is_ci_script || extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
}

fn relative(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.join("/")
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

fn is_test_file(path: &str) -> bool {
    let mut parts = path.split('/').rev();
    let file = parts.next().unwrap_or(path);
    file == "tests.rs" || parts.any(|directory| TEST_DIRECTORIES.contains(&directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_tests_and_examples_are_test_code() {
        assert!(is_test_file("crates/core/tests/replay/main.rs"));
        assert!(is_test_file("crates/duroxide/examples/quickstart.rs"));
        assert!(is_test_file("crates/core/src/engine/tests.rs"));
        assert!(!is_test_file("crates/core/src/engine/emit.rs"));
        assert!(!is_test_file("xtask/src/test.rs"));
    }

    #[test]
    fn test_modules_in_files_of_their_own_are_test_code() {
        let declaration = "fn a() {}\n#[cfg(test)]\nmod fake;\nmod real;\n";
        let mut sources = vec![
            Source::new("src/store/mod.rs", declaration),
            Source::new("src/store/fake.rs", "fn b() {}\n"),
            Source::new("src/store/fake/part.rs", "fn b() {}\n"),
            Source::new("src/store/real.rs", "fn c() {}\n#[cfg(test)]\nmod checks;\n"),
            Source::new("src/store/real/checks.rs", "fn d() {}\n"),
            Source::new("src/store/faker.rs", "fn e() {}\n"),
            Source::new("src/a.rs", "#[cfg(test)]\n#[path = \"a_tests.rs\"]\nmod tests;\n"),
            Source::new("src/a_tests.rs", "fn f() {}\n"),
            Source::new("src/lib.rs", "#[cfg(test)]\npub(crate) mod shared;\n"),
            Source::new("src/shared.rs", "fn g() {}\n"),
        ];
        mark_test_modules(&mut sources);
        let lines = |source: &Source| source.product_code().count();
        assert_eq!(sources.iter().map(lines).collect::<Vec<_>>(), [2, 0, 0, 1, 0, 1, 0, 0, 0, 0]);
    }

    #[test]
    fn product_code_leaves_out_test_modules() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let source = Source::new("a.rs", text);
        let lines: Vec<usize> = source.product_code().map(|(line, _)| line).collect();
        assert_eq!(lines, [1, 6]);
    }
}
