//! The columns that a text takes on a terminal.

/// Columns on the screen.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// The longest beginning of a text that takes at most this many columns.
pub(crate) fn beginning(text: &str, room: usize) -> &str {
    let mut taken = 0;
    for (at, character) in text.char_indices() {
        taken += columns(character);
        if taken > room {
            return &text[..at];
        }
    }
    text
}

/// None for marks that join the character before them, two for wide characters. Ambiguous ones take
/// one, as terminals show them outside of East Asia.
fn columns(character: char) -> usize {
    let is_within = |ranges: &[(u32, u32)]| {
        let code = u32::from(character);
        ranges.iter().any(|(first, last)| (*first..=*last).contains(&code))
    };
    match character {
        // Most texts: no need to search.
        '\0'..='\u{2ff}' => 1,
        _ if is_within(JOINED) => 0,
        _ if is_within(WIDE) => 2,
        _ => 1,
    }
}

/// Combining marks of common scripts, joiners and variation selectors.
const JOINED: &[(u32, u32)] = &[
    (0x300, 0x36f),
    (0x483, 0x489),
    (0x591, 0x5bd),
    (0x610, 0x61a),
    (0x64b, 0x65f),
    (0x93c, 0x93c),
    (0x941, 0x948),
    (0x94d, 0x94d),
    (0xe31, 0xe31),
    (0xe34, 0xe3a),
    (0xe47, 0xe4e),
    (0x1ab0, 0x1aff),
    (0x1dc0, 0x1dff),
    (0x200b, 0x200d),
    (0x20d0, 0x20ff),
    (0xfe00, 0xfe0f),
    (0xfe20, 0xfe2f),
    (0x1f3fb, 0x1f3ff),
    (0xe0100, 0xe01ef),
];

/// Scripts of East Asia, full-width forms and pictures.
const WIDE: &[(u32, u32)] = &[
    (0x1100, 0x115f),
    (0x231a, 0x231b),
    (0x23e9, 0x23ec),
    (0x25fd, 0x25fe),
    (0x2614, 0x2615),
    (0x26a1, 0x26a1),
    (0x2705, 0x2705),
    (0x2728, 0x2728),
    (0x274c, 0x274c),
    (0x2753, 0x2755),
    (0x2e80, 0x303e),
    (0x3041, 0x33ff),
    (0x3400, 0x4dbf),
    (0x4e00, 0x9fff),
    (0xa000, 0xa4cf),
    (0xa960, 0xa97f),
    (0xac00, 0xd7a3),
    (0xf900, 0xfaff),
    (0xfe30, 0xfe6f),
    (0xff00, 0xff60),
    (0xffe0, 0xffe6),
    (0x1f300, 0x1f64f),
    (0x1f680, 0x1f6ff),
    (0x1f7e0, 0x1f7eb),
    (0x1f900, 0x1f9ff),
    (0x1fa70, 0x1faff),
    (0x20000, 0x3fffd),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_marks_none() {
        for (text, columns) in [
            ("order-7", 7),
            ("äöü", 3),
            ("a\u{308}", 1),
            ("日本", 4),
            ("\u{1f980}!", 3),
            ("한글", 4),
            ("", 0),
        ] {
            assert_eq!(width(text), columns, "{text}");
        }
    }

    #[test]
    fn a_beginning_never_takes_more_than_its_room() {
        assert_eq!(beginning("日本語", 6), "日本語");
        assert_eq!(beginning("日本語", 5), "日本");
        assert_eq!(beginning("a\u{308}b", 1), "a\u{308}");
        assert_eq!(beginning("abc", 0), "");
    }
}
