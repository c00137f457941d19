//! Shapes: where documentation begins, and what `lib.rs` and `mod.rs` may hold.

use super::source::Source;
use super::violation::Violation;

const ROOTS: &[&str] = &["lib.rs", "mod.rs"];
// The compiler demands that attribute macros are functions of the root.
const MACROS: &str = "crates/macros/src/lib.rs";

/// Every file says in its first line what it is for.
pub(super) fn begins_with_docs(source: &Source) -> Vec<Violation> {
    let documented = source.lines.first().is_some_and(|line| line.starts_with("//!"));
    if !source.is_rust() || documented {
        return Vec::new();
    }
    vec![source.violation(1, "the file does not begin with '//!'")]
}

/// `lib.rs` and `mod.rs` hold docs, attributes, `mod` and `use`; code lives in named files.
pub(super) fn roots_hold_no_code(source: &Source) -> Vec<Violation> {
    if !ROOTS.contains(&source.file_name()) || source.path == MACROS {
        return Vec::new();
    }
    let characters = source
        .code()
        .flat_map(|(line, code)| code.chars().chain(['\n']).map(move |character| (line, character)))
        .collect();
    match (Items { characters, at: 0 }).check() {
        Ok(()) => Vec::new(),
        Err(line) => vec![source.violation(line, "only docs, 'mod' and 'use' belong here")],
    }
}

// Walks over items; an error is the line of the first one that does not belong.
struct Items {
    characters: Vec<(usize, char)>,
    at: usize,
}

impl Items {
    fn check(&mut self) -> Result<(), usize> {
        loop {
            self.skip_blank();
            let Some((line, first)) = self.peek() else { return Ok(()) };
            match first {
                '#' => self.skip_attribute(),
                '}' => self.at += 1,
                _ => self.check_item(line)?,
            }
        }
    }

    fn check_item(&mut self, line: usize) -> Result<(), usize> {
        let mut word = self.take_word();
        if word == "pub" {
            self.skip_blank();
            if self.peek().is_some_and(|(_, character)| character == '(') {
                self.skip_until(&[')']);
            }
            self.skip_blank();
            word = self.take_word();
        }
        match word.as_str() {
            "use" => self.skip_until(&[';']),
            // The content of an inline module is checked like the file.
            "mod" => self.skip_until(&[';', '{']),
            _ => return Err(line),
        }
        Ok(())
    }

    fn peek(&self) -> Option<(usize, char)> {
        self.characters.get(self.at).copied()
    }

    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|(_, character)| character.is_whitespace()) {
            self.at += 1;
        }
    }

    fn take_word(&mut self) -> String {
        let mut word = String::new();
        while let Some((_, character)) = self.peek().filter(|(_, c)| c.is_alphanumeric()) {
            word.push(character);
            self.at += 1;
        }
        word
    }

    fn skip_until(&mut self, ends: &[char]) {
        while let Some((_, character)) = self.peek() {
            self.at += 1;
            if ends.contains(&character) {
                return;
            }
        }
    }

    fn skip_attribute(&mut self) {
        let mut depth = 0_usize;
        while let Some((_, character)) = self.peek() {
            self.at += 1;
            match character {
                '[' => depth += 1,
                ']' if depth == 1 => return,
                ']' => depth -= 1,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Vec<Violation> {
        roots_hold_no_code(&Source::new("crates/core/src/lib.rs", text))
    }

    #[test]
    fn a_file_without_docs_is_found() {
        assert_eq!(begins_with_docs(&Source::new("a.rs", "use b;"))[0].line, 1);
        assert_eq!(begins_with_docs(&Source::new("a.rs", "")).len(), 1);
        assert!(begins_with_docs(&Source::new("a.rs", "//! What it is for.")).is_empty());
        assert!(begins_with_docs(&Source::new("a.md", "# Title")).is_empty());
    }

    #[test]
    fn roots_may_hold_modules_and_uses() {
        let text = "//! Docs.\n#![doc = include_str!(\"a.md\")]\n\n/// Docs.\n#[cfg(feature = \
                    \"x\")]\npub mod a;\nmod b;\npub(crate) mod c;\npub use a::{\n    B,\n    \
                    c::D,\n};\nuse b as _;\n/// Docs.\npub mod d {\n    pub use e::F;\n}\n";
        assert_eq!(root(text), []);
    }

    #[test]
    fn code_in_a_root_is_found() {
        for code in [
            "fn a() {}",
            "pub const A: u8 = 1;",
            "pub struct S;",
            "impl A {}",
            "pub type A = B;",
            "macro_rules! a { () => {} }",
            "pub mod a {\nfn b() {}\n}",
        ] {
            let found = root(&format!("//! Docs.\nmod a;\n{code}\n"));
            assert_eq!(found.len(), 1, "{code}");
            assert!(found[0].line >= 3, "{code}");
        }
    }

    #[test]
    fn other_files_may_hold_code() {
        assert!(roots_hold_no_code(&Source::new("a/b.rs", "fn a() {}")).is_empty());
    }
}
