//! Splits Rust text into code and comments, just well enough for the rules.
//!
//! The content of strings and characters is blanked, so that no rule mistakes it for code.

/// What one line of a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Code, with comments removed and the content of literals blanked.
    pub(super) code: String,
    /// Comments, markers included.
    pub(super) comment: String,
}

#[derive(Clone, Copy)]
enum State {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

/// Splits `text`; the result has one entry per line.
pub(super) fn lex(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut state = State::Code;
    for line in text.lines() {
        let (parts, next) = lex_line(line, state);
        lines.push(parts);
        state = match next {
            State::LineComment => State::Code,
            State::Code | State::BlockComment { .. } | State::Text | State::RawText { .. } => next,
        };
    }
    lines
}

fn lex_line(line: &str, mut state: State) -> (Line, State) {
    let chars: Vec<char> = line.chars().collect();
    let mut parts = Line::default();
    let mut at = 0;
    while at < chars.len() {
        let rest = &chars[at..];
        let (taken, next) = match state {
            State::Code => lex_code(rest, previous(&chars, at), &mut parts),
            State::LineComment => take_comment(rest, rest.len(), state, &mut parts),
            State::BlockComment { depth } => lex_block_comment(rest, depth, &mut parts),
            State::Text => lex_text(rest, &mut parts),
            State::RawText { hashes } => lex_raw_text(rest, hashes, &mut parts),
        };
        at += taken;
        state = next;
    }
    (parts, state)
}

fn previous(chars: &[char], at: usize) -> Option<char> {
    at.checked_sub(1).map(|before| chars[before])
}

fn lex_code(rest: &[char], before: Option<char>, parts: &mut Line) -> (usize, State) {
    let inside_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    match rest {
        ['/', '/', ..] => take_comment(rest, 2, State::LineComment, parts),
        ['/', '*', ..] => take_comment(rest, 2, State::BlockComment { depth: 1 }, parts),
        ['"', ..] => take_code("\"", 1, State::Text, parts),
        ['r', ..] if !inside_word || before == Some('b') => match raw_hashes(&rest[1..]) {
            Some(hashes) => take_code("\"", hashes + 2, State::RawText { hashes }, parts),
            None => take_code("r", 1, State::Code, parts),
        },
        ['\'', ..] => match char_literal_len(rest) {
            Some(len) => take_code("' '", len, State::Code, parts),
            None => take_code("'", 1, State::Code, parts),
        },
        [other, ..] => take_code(&other.to_string(), 1, State::Code, parts),
        [] => (0, State::Code),
    }
}

fn lex_block_comment(rest: &[char], depth: usize, parts: &mut Line) -> (usize, State) {
    match rest {
        ['*', '/', ..] if depth == 1 => take_comment(rest, 2, State::Code, parts),
        ['*', '/', ..] => take_comment(rest, 2, State::BlockComment { depth: depth - 1 }, parts),
        ['/', '*', ..] => take_comment(rest, 2, State::BlockComment { depth: depth + 1 }, parts),
        _ => take_comment(rest, 1, State::BlockComment { depth }, parts),
    }
}

fn lex_text(rest: &[char], parts: &mut Line) -> (usize, State) {
    match rest {
        ['\\', _, ..] => (2, State::Text),
        ['"', ..] => take_code("\"", 1, State::Code, parts),
        _ => (1, State::Text),
    }
}

fn lex_raw_text(rest: &[char], hashes: usize, parts: &mut Line) -> (usize, State) {
    let closes = rest[0] == '"'
        && rest.len() > hashes
        && rest[1..=hashes].iter().all(|character| *character == '#');
    if closes {
        take_code("\"", hashes + 1, State::Code, parts)
    } else {
        (1, State::RawText { hashes })
    }
}

fn take_code(code: &str, taken: usize, next: State, parts: &mut Line) -> (usize, State) {
    parts.code.push_str(code);
    (taken, next)
}

fn take_comment(rest: &[char], taken: usize, next: State, parts: &mut Line) -> (usize, State) {
    parts.comment.extend(&rest[..taken]);
    (taken, next)
}

// `rest` follows an `r`: how many `#` stand before the quote, if a raw string begins here.
fn raw_hashes(rest: &[char]) -> Option<usize> {
    let hashes = rest.iter().take_while(|character| **character == '#').count();
    (rest.get(hashes) == Some(&'"')).then_some(hashes)
}

// A quote begins a character if another quote follows it, else a lifetime.
fn char_literal_len(rest: &[char]) -> Option<usize> {
    match rest {
        ['\'', '\\', _, tail @ ..] => {
            tail.iter().position(|character| *character == '\'').map(|end| end + 4)
        }
        ['\'', _, '\'', ..] => Some(3),
        _ => None,
    }
}

/// Whether each line belongs to an item under `#[cfg(test)]`.
pub(super) fn test_lines(lines: &[Line]) -> Vec<bool> {
    let mut in_test = vec![false; lines.len()];
    let mut line = 0;
    while line < lines.len() {
        if is_test_attribute(&lines[line].code) {
            let end = item_end(lines, line);
            in_test[line..=end].fill(true);
            line = end;
        }
        line += 1;
    }
    in_test
}

fn is_test_attribute(code: &str) -> bool {
    let code = code.trim_start();
    code.starts_with("#[cfg(test)") || code.starts_with("#[cfg(all(test,")
}

// The line that holds the closing brace or semicolon of the item that `start` belongs to.
fn item_end(lines: &[Line], start: usize) -> usize {
    let mut depth = 0_usize;
    for (index, line) in lines.iter().enumerate().skip(start) {
        for character in line.code.chars() {
            match character {
                '{' | '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                '}' => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return index;
                    }
                }
                ';' if depth == 0 => return index,
                _ => {}
            }
        }
    }
    lines.len() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        lex(text).into_iter().map(|line| line.code).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn comments_are_no_code() {
        assert_eq!(code("a(); // b()"), "a(); ");
        assert_eq!(code("a(/* b /* c */ d */);"), "a();");
        assert_eq!(code("/* a\nb */ c"), "\n c");
    }

    #[test]
    fn literals_are_blanked() {
        assert_eq!(code(r#"f("a \" // b", 'x', '\'')"#), "f(\"\", ' ', ' ')");
        assert_eq!(code("f(r#\"a \" b\"#, br\"c\")"), "f(\"\", b\"\")");
        assert_eq!(code("\"a\nb()\" c"), "\"\n\" c");
    }

    #[test]
    fn lifetimes_are_no_characters() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn comments_are_kept_apart() {
        assert_eq!(lex("a // b")[0].comment, "// b");
    }

    #[test]
    fn a_test_module_ends_at_its_brace() {
        let text = "a\n#[cfg(test)]\nmod t {\n fn x() {}\n}\nb\n#[cfg(test)]\nmod u;\nc";
        let expected = [false, true, true, true, true, false, true, true, false];
        assert_eq!(test_lines(&lex(text)), expected);
    }
}
