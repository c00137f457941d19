//! A token contains the key of the leased row, so that no index on tokens is needed.

use uuid::Uuid;

/// The lease of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TurnToken {
    pub(crate) id: Uuid,
    /// In its stored form.
    pub(crate) instance: String,
}

impl TurnToken {
    /// The text that callers get.
    pub(crate) fn text(&self) -> String {
        format!("lock_{}:{}", self.id, self.instance)
    }

    /// Reads a token; `None` if this provider did not make it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (id, instance) = parts(text)?;
        Some(Self { id, instance: instance.to_owned() })
    }
}

/// The lease of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WorkToken {
    pub(crate) id: Uuid,
    /// The row.
    pub(crate) row: i64,
}

impl WorkToken {
    /// The text that callers get.
    pub(crate) fn text(&self) -> String {
        format!("lock_{}:{}", self.id, self.row)
    }

    /// Reads a token; `None` if this provider did not make it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (id, row) = parts(text)?;
        Some(Self { id, row: row.parse().ok()? })
    }
}

fn parts(text: &str) -> Option<(Uuid, &str)> {
    let (id, rest) = text.strip_prefix("lock_")?.split_once(':')?;
    Some((Uuid::try_parse(id).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_for_any_instance_id() {
        let token = TurnToken { id: Uuid::new_v4(), instance: "a:lock_: b".to_owned() };
        assert_eq!(TurnToken::parse(&token.text()), Some(token));
        let token = WorkToken { id: Uuid::new_v4(), row: 7 };
        assert_eq!(WorkToken::parse(&token.text()), Some(token));
    }

    #[test]
    fn a_foreign_text_is_no_token() {
        for text in ["", "lock_", "lock_:", "lock_1:a", "nonsense", "lock_\0:a"] {
            assert_eq!(TurnToken::parse(text), None, "{text}");
            assert_eq!(WorkToken::parse(text), None, "{text}");
        }
    }
}
