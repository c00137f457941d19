//! Texts with `*` for any characters.

use std::fmt;

use super::words::quoted;

/// A text in which `*` stands for any characters, or for none.
///
/// ```
/// # use duroxide_core as duroxide;
/// use duroxide::query::Pattern;
///
/// let pattern = Pattern::new("Order*");
/// assert!(pattern.matches("OrderItem"));
/// assert!(!pattern.matches("Reorder"));
/// assert!(!Pattern::exact("Order*").matches("OrderItem"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// The texts between the stars; never empty.
    parts: Vec<String>,
}

impl Pattern {
    /// A pattern in which every `*` is a wildcard.
    pub fn new(text: &str) -> Self {
        Self { parts: text.split('*').map(str::to_owned).collect() }
    }

    /// A pattern that only one text matches.
    pub fn exact(text: impl Into<String>) -> Self {
        Self { parts: vec![text.into()] }
    }

    pub(super) fn of_parts(parts: Vec<String>) -> Self {
        Self { parts }
    }

    /// The only text that matches, if there is no wildcard.
    pub fn as_exact(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// How every text that matches begins.
    pub fn prefix(&self) -> &str {
        self.parts.first().map_or("", String::as_str)
    }

    /// Whether every text with the [prefix](Self::prefix) matches.
    pub fn is_prefix(&self) -> bool {
        matches!(self.parts.as_slice(), [_, last] if last.is_empty())
    }

    /// Whether a text matches.
    pub fn matches(&self, text: &str) -> bool {
        let (first, rest) = match self.parts.as_slice() {
            [] => return text.is_empty(),
            [only] => return text == only,
            [first, rest @ ..] => (first, rest),
        };
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        let Some((last, middle)) = rest.split_last() else { return false };
        for part in middle {
            // The first place is always right: it leaves most for the others.
            let Some(place) = left.find(part.as_str()) else { return false };
            left = &left[place + part.len()..];
        }
        left.ends_with(last.as_str())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(exact) = self.as_exact() {
            return f.write_str(&quoted(exact));
        }
        for (place, part) in self.parts.iter().enumerate() {
            if place > 0 {
                f.write_str("*")?;
            }
            if !part.is_empty() {
                f.write_str(&quoted(part))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, text, matches) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("a*", "a", true),
            ("*a", "ba", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("aa*aa", "aaa", false),
            ("aa*aa", "aaaa", true),
            ("*é*", "café!", true),
            ("a**b", "ab", true),
            ("ab", "AB", false),
        ] {
            assert_eq!(Pattern::new(pattern).matches(text), matches, "{pattern} on {text}");
        }
    }

    #[test]
    fn a_prefix_is_known() {
        assert!(Pattern::new("Order*").is_prefix());
        assert_eq!(Pattern::new("Order*x").prefix(), "Order");
        assert!(!Pattern::new("Order*x").is_prefix());
        assert!(!Pattern::new("Order").is_prefix());
        assert_eq!(Pattern::exact("a*b").as_exact(), Some("a*b"));
    }
}
