//! Words and marks that do not belong into finished source.

use super::source::Source;
use super::violation::Violation;

const UNFINISHED: &[&str] = &["todo!(", "unimplemented!(", "dbg!(", "#[ignore"];
// Words that hide the actor or are not those of the field, and what to write instead.
const VAGUE: &[(&str, &str)] = &[
    ("whoever", "name the actor"),
    ("whomever", "name the actor"),
    ("nobody", "name the actor: 'no worker', 'no caller'"),
    ("somebody", "name the actor"),
    ("someone", "name the actor"),
    ("anybody", "name the actor"),
    ("told", "'notified' or 'reported'"),
    ("news", "'change' or 'notification'"),
    ("give back", "'release' or 'return'"),
    ("gives back", "'releases' or 'returns'"),
    ("given back", "'released' or 'returned'"),
    ("hand out", "'return', 'lease' or 'dispatch'"),
    ("hands out", "'returns', 'leases' or 'dispatches'"),
    ("handed out", "'returned', 'leased' or 'dispatched'"),
    ("look again", "'poll' or 're-check'"),
    ("looks again", "'polls' or 're-checks'"),
    ("tried again", "'retried' or 'retrying'"),
    ("begun", "'started'"),
    ("heard of", "'notified of'"),
];
// The rule itself names the words; the other file names the user `nobody` of the system.
const NAMES_THE_WORDS: &[&str] = &["xtask/src/tidy/words.rs", "crates/pg-server/src/user.rs"];
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

/// Comments, logs and documents say who does what, in the words of the field. Texts in tests are
/// free, because a test may need any text.
pub(super) fn no_vague_words(source: &Source) -> Vec<Violation> {
    let mut found = Vec::new();
    if NAMES_THE_WORDS.contains(&source.path.as_str()) {
        return found;
    }
    for (index, line) in source.lines.iter().enumerate() {
        let prose = prose_of(source, index, line);
        let vague = VAGUE.iter().filter(|(word, _)| has_words(&prose, word));
        found.extend(vague.map(|(word, instead)| {
            source.violation(index + 1, format!("'{word}' is vague: write {instead}"))
        }));
    }
    found
}

// What of a line is prose: all of a document, comments and texts of code, comments of tests.
fn prose_of(source: &Source, index: usize, line: &str) -> String {
    if !source.is_rust() {
        let is_document = source.file_name().rsplit('.').next() == Some("md");
        return if is_document { line.to_lowercase() } else { String::new() };
    }
    let lexed = &source.lexed[index];
    let is_text = !source.in_test[index] && lexed.code.contains('"');
    if is_text { line.to_lowercase() } else { lexed.comment.to_lowercase() }
}

fn has_words(prose: &str, words: &str) -> bool {
    // What stands in code marks is a name.
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '`';
    prose.match_indices(words).any(|(at, _)| {
        let before = prose[..at].chars().next_back();
        let after = prose[at + words.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
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
    fn vague_words_are_found_in_comments_texts_and_documents() {
        for text in ["// Nobody knows.", "warn!(\"it was given back\");", "a(); // is told"] {
            assert_eq!(no_vague_words(&rust(text)).len(), 1, "{text}");
        }
        assert_eq!(no_vague_words(&Source::new("a.md", "whoever reads this")).len(), 1);
    }

    #[test]
    fn names_and_texts_of_tests_may_hold_any_word() {
        assert!(no_vague_words(&rust("fn nobody() { let told = 1; }")).is_empty());
        assert!(no_vague_words(&rust("// The newsletter mistold it.")).is_empty());
        let test = Source::new("crates/core/tests/a.rs", "raise(\"news\");");
        assert!(no_vague_words(&test).is_empty());
    }

    #[test]
    fn emoji_are_found_and_arrows_are_not() {
        assert_eq!(no_emoji(&Source::new("a.md", "done \u{2705}"))[0].line, 1);
        assert_eq!(no_emoji(&rust("// \u{1F680}")).len(), 1);
        assert!(no_emoji(&rust("// a \u{2192} b \u{2500}\u{25BA} c")).is_empty());
    }
}
