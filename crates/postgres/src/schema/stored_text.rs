//! Texts in their stored form. PostgreSQL refuses a zero character in a text, so that two other
//! characters replace it.

use std::borrow::Cow;

/// Starts a replacement: the first character for private use, which has no meaning of its own.
const ESCAPE: char = '\u{e000}';
const ZERO: &str = "\u{e000}0";
const ITSELF: &str = "\u{e000}1";

/// The stored form of a text.
pub(crate) fn to_stored(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace(ESCAPE, ITSELF).replace('\0', ZERO))
}

/// The stored form, owned.
pub(crate) fn stored(text: &str) -> String {
    to_stored(text).into_owned()
}

/// The text behind a stored form.
pub(crate) fn from_stored(stored: String) -> String {
    if !stored.contains(ESCAPE) {
        return stored;
    }
    let mut text = String::with_capacity(stored.len());
    let mut rest = stored.as_str();
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        text.push_str(before);
        let mut following = after.chars();
        match following.next() {
            Some('0') => text.push('\0'),
            Some('1') => text.push(ESCAPE),
            // This crate never writes it: kept as it is.
            Some(other) => text.extend([ESCAPE, other]),
            None => text.push(ESCAPE),
        }
        rest = following.as_str();
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_text_is_read_back(text in "[\0\u{e000}01a]{0,12}") {
            let stored = stored(&text);
            prop_assert!(!stored.contains('\0'));
            prop_assert_eq!(from_stored(stored), text);
        }
    }

    #[test]
    fn a_usual_text_is_stored_unchanged() {
        assert!(matches!(to_stored("order 1"), Cow::Borrowed("order 1")));
    }
}
