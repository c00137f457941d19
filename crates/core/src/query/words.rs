//! Words of the language: keys, quotes, and what people mean by a misspelt one.

/// The keys, in the order in which hints list them.
pub(super) const KEYS: [&str; 15] = [
    "id",
    "name",
    "version",
    "status",
    "parent",
    "created",
    "updated",
    "ended",
    "duration",
    "executions",
    "custom",
    "error",
    "category",
    "pin",
    "text",
];

/// How the key of an attribute begins.
pub(super) const ATTRIBUTE_PREFIX: &str = "attr.";

/// A value that stands for the lack of one.
pub(super) const NONE: &str = "none";

/// A value that stands for any.
pub(super) const ANY: &str = "any";

/// Whether a character may stand outside quotes.
pub(super) fn is_bare(character: char) -> bool {
    !character.is_whitespace() && !matches!(character, '"' | ',' | '*' | '\\')
}

/// A text as a value that is read back as the same text.
pub(super) fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.chars().all(|character| is_bare(character) && !character.is_control())
        && !text.starts_with(['=', '<', '>', '~', '-'])
        && text != NONE
        && text != ANY;
    if is_plain {
        return text.to_owned();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The word that was probably meant.
pub(super) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let begins =
        |other: &str| word.len() > 1 && (other.starts_with(&word) || word.starts_with(other));
    known
        .map(|other| (if begins(other) { 1 } else { distance(&word, other) }, other))
        .filter(|(distance, other)| *distance <= 2 && *distance < word.len().min(other.len()))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, other)| other)
}

/// Letters to be added, removed or replaced.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for place in 0..other.len() {
            let replaced = diagonal + usize::from(letter != other[place]);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_is_recognised() {
        let keys = || KEYS.into_iter();
        assert_eq!(nearest("stauts", keys()), Some("status"));
        assert_eq!(nearest("creatd", keys()), Some("created"));
        assert_eq!(nearest("err", keys()), Some("error"));
        assert_eq!(nearest("custom_status", keys()), Some("custom"));
        assert_eq!(nearest("colour", keys()), None);
        assert_eq!(nearest("", keys()), None);
    }

    #[test]
    fn only_unsafe_texts_are_quoted() {
        assert_eq!(quoted("a::sub::1"), "a::sub::1");
        for text in ["", "none", "a b", "a*b", "a,b", "-1", "say \"x\"", "a\\b", "a\nb"] {
            assert!(quoted(text).starts_with('"'), "{text}");
        }
    }
}
