//! Words and marks that do not belong into finished source.

use super::source::Source;
use super::violation::Violation;

const UNFINISHED: &[&str] = &["todo!(", "unimplemented!(", "dbg!(", "#[ignore"];
const BANNER_MARKS: &[char] = &['=', '-', '*', '~', '#'];
const BANNER_LENGTH: usize = 4;
const HEADING_MARK: char = '#';

/// Nothing is left for later: no placeholders, no ignored tests, no debug prints.
pub(super) fn no_unfinished_code(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    for (line, code) in source.code() {
        for word in UNFINISHED.iter().filter(|word| contains_word(code, word)) {
            found.push(source.violation(line, format!("'{word}' is not allowed")));
        }
    }
    found
}

/// `unwrap` only in tests: elsewhere `expect` states why it cannot fail.
pub(super) fn no_unwrap(source: &Source) -> Vec<Violation> {
    let lines = source.product_code().filter(|(_, code)| code.contains(".unwrap()"));
    lines
        .map(|(line, _)| source.violation(line, "'.unwrap()' outside tests: use 'expect' or '?'"))
        .collect()
}

/// Comments are sentences, not decoration.
pub(super) fn no_banners(source: &Source) -> Vec<Violation> {
    let lines = source.comments().filter(|(_, comment)| is_banner(comment));
    lines.map(|(line, _)| source.violation(line, "banner comment")).collect()
}

/// No emoji, in code or in prose.
pub(super) fn no_emoji(source: &Source) -> Vec<Violation> {
    let lines = source.lines.iter().enumerate();
    lines
        .filter_map(|(index, line)| {
            let emoji = line.chars().find(|character| is_emoji(*character))?;
            Some(source.violation(index + 1, format!("emoji U+{:04X}", u32::from(emoji))))
        })
        .collect()
}

// `my_todo!(` is another macro.
fn contains_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        !before.is_some_and(|character| character.is_alphanumeric() || character == '_')
    })
}

fn is_banner(comment: &str) -> bool {
    let text = comment.trim_start_matches(['/', '!', ' ']);
    let Some(first) = text.chars().next().filter(|first| BANNER_MARKS.contains(first)) else {
        return false;
    };
    let run = text.chars().take_while(|character| *character == first).count();
    // A deep heading in documentation is a run of marks with words behind it.
    let is_heading = first == HEADING_MARK && text.chars().nth(run) == Some(' ');
    run >= BANNER_LENGTH && !is_heading
}

fn is_emoji(character: char) -> bool {
    matches!(
        character,
        '\u{1F000}'..='\u{1FAFF}' | '\u{2600}'..='\u{27BF}' | '\u{2B50}'..='\u{2B55}' | '\u{FE0F}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rust(text: &str) -> Source {
        Source::new("crates/core/src/a.rs", text)
    }

    #[test]
    fn unfinished_code_is_found_everywhere() {
        for word in UNFINISHED {
            let found = no_unfinished_code(&rust(&format!("a\n  {word}x")));
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].line, 2);
        }
        let in_test = Source::new("crates/core/tests/a.rs", "#[ignore]");
        assert_eq!(no_unfinished_code(&in_test).len(), 1);
    }

    #[test]
    fn text_and_comments_are_not_unfinished_code() {
        assert!(no_unfinished_code(&rust("f(\"todo!(\"); // dbg!(x)")).is_empty());
        assert!(no_unfinished_code(&rust("my_todo!(x)")).is_empty());
    }

    #[test]
    fn unwrap_is_found_outside_tests_only() {
        assert_eq!(no_unwrap(&rust("let a = b.unwrap();")).len(), 1);
        assert!(no_unwrap(&rust("b.unwrap_or(c); // d.unwrap()")).is_empty());
        assert!(no_unwrap(&rust("#[cfg(test)]\nmod t {\n  a.unwrap()\n}")).is_empty());
        assert!(no_unwrap(&Source::new("crates/core/tests/a.rs", "a.unwrap()")).is_empty());
        assert!(no_unwrap(&Source::new("crates/core/examples/a.rs", "a.unwrap()")).is_empty());
    }

    #[test]
    fn banners_are_found() {
        let marks = ["=", "-", "*", "~", "#"].map(|mark| format!("// {}", mark.repeat(4)));
        for mark in marks {
            assert_eq!(no_banners(&rust(&mark)).len(), 1, "{mark}");
        }
        assert_eq!(no_banners(&rust(&format!("// {} part {}", "=".repeat(9), "="))).len(), 1);
    }

    #[test]
    fn tables_lists_and_headings_are_no_banners() {
        for text in ["/// |----|----|", "// - item", "//! #### heading", "let a = 1; // --flag"] {
            assert!(no_banners(&rust(text)).is_empty(), "{text}");
        }
    }

    #[test]
    fn emoji_are_found_and_arrows_are_not() {
        assert_eq!(no_emoji(&Source::new("a.md", "done \u{2705}"))[0].line, 1);
        assert_eq!(no_emoji(&rust("// \u{1F680}")).len(), 1);
        assert!(no_emoji(&rust("// a \u{2192} b \u{2500}\u{25BA} c")).is_empty());
    }
}
