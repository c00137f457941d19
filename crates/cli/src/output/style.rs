//! Colours, which mean something and are never the only sign of it.

/// What a text says about its subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    /// Nothing in particular.
    #[default]
    Plain,
    /// It is as it should be.
    Good,
    /// It goes on.
    Active,
    /// It needs attention.
    Warning,
    /// It failed.
    Bad,
    /// It matters less than the rest.
    Faint,
    /// A heading.
    Strong,
}

/// A text with its tone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Styled {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

impl Styled {
    /// A text in a tone.
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone }
    }
}

impl From<String> for Styled {
    fn from(text: String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<&str> for Styled {
    fn from(text: &str) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// The tone of a status of an instance or an execution.
pub(crate) fn tone_of_status(status: &str) -> Tone {
    match status {
        "running" => Tone::Active,
        "completed" => Tone::Good,
        "failed" => Tone::Bad,
        "suspended" => Tone::Warning,
        _ => Tone::Plain,
    }
}

/// The text between the control codes of its tone, or alone if colours are off.
pub(crate) fn paint(text: &str, tone: Tone, colours: bool) -> String {
    let code = match tone {
        Tone::Plain => "",
        Tone::Good => "32",
        Tone::Active => "36",
        Tone::Warning => "33",
        Tone::Bad => "31",
        Tone::Faint => "2",
        Tone::Strong => "1",
    };
    match colours && !code.is_empty() && !text.is_empty() {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    }
}

/// A stored text in one line of a terminal: line breaks and control codes become visible.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            '\t' => shown.push_str("\\t"),
            other if is_hidden(other) => shown.extend(other.escape_unicode()),
            other => shown.push(other),
        }
    }
    shown
}

/// A stored text over several lines of a terminal: only control codes become visible.
pub(crate) fn printable_lines(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            other if is_hidden(other) => shown.extend(other.escape_unicode()),
            other => shown.push(other),
        }
    }
    shown
}

/// Characters that a terminal obeys instead of showing them: control codes, line separators, those
/// that change the direction of the text around them, and those that only make two ids look alike.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2064}'
                | '\u{2066}'..='\u{2069}'
                | '\u{feff}'
        )
}

/// A word as a shell reads it, in one line.
pub(crate) fn shell_word(word: &str) -> String {
    if !word.chars().any(is_hidden) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for character in word.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            other if is_hidden(other) => quoted.push_str(&bytes_of(other)),
            other => quoted.push(other),
        }
    }
    quoted.push('\'');
    quoted
}

fn bytes_of(character: char) -> String {
    let text = character.to_string();
    text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_appear_only_where_they_are_wanted() {
        assert_eq!(paint("x", Tone::Bad, false), "x");
        assert_eq!(paint("x", Tone::Bad, true), "\x1b[31mx\x1b[0m");
        assert_eq!(paint("x", Tone::Plain, true), "x");
    }

    #[test]
    fn stored_control_codes_do_not_reach_the_terminal() {
        assert_eq!(printable("a\nb\x1b[31mc"), "a\\nb\\u{1b}[31mc");
        assert_eq!(printable("\u{202e}gnp"), "\\u{202e}gnp");
        assert_eq!(printable("order\u{200b}-7"), "order\\u{200b}-7");
        assert_eq!(printable_lines("a\n\tb\x07\r"), "a\n\tb\\u{7}\\u{d}");
    }

    #[test]
    fn a_word_for_a_shell_has_no_control_codes() {
        assert_eq!(shell_word("it's 7"), r"'it'\''s 7'");
        assert_eq!(shell_word("a\n'b\\\x1b"), r"$'a\x0a\'b\\\x1b'");
    }
}
