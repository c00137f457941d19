//! A reader under test.

/// What a target says about an input: a short word for how it was read, or the rule that is broken.
pub type Verdict = Result<String, String>;

/// A reader of texts from outside.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, and that of its folder in `corpus`.
    pub name: &'static str,
    /// Inputs besides those of the folder.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads an input.
    pub read: fn(&[u8]) -> Verdict,
}

/// The word for an error: its text without what differs from input to input, so that new kinds of
/// answers differ from new inputs.
pub(crate) fn word(error: &impl std::fmt::Display) -> String {
    let text = error.to_string();
    let mut word = String::new();
    let mut is_quoted = false;
    for character in text.chars() {
        match character {
            '\'' | '"' | '`' => is_quoted = !is_quoted,
            _ if is_quoted || character.is_ascii_digit() => {}
            _ => word.push(character),
        }
        if word.len() > 60 {
            break;
        }
    }
    word
}

/// Fails with a rule that is broken.
pub(crate) fn require(holds: bool, rule: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(rule()) }
}
