//! Numbers that this crate and the SQL functions share. A function's text names them in braces, as
//! in `{COMMITTED}`, so that each number is written in this file only.

use duroxide_core::providers::kit::MessageKind;

/// What became of a turn that was to be committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TurnResult {
    /// It is committed, by this attempt or an earlier one.
    Committed,
    /// The token belongs to no lease.
    UnknownToken,
    /// The lease has expired.
    LeaseExpired,
    /// A direct turn does not follow what is stored.
    NotCurrent,
    /// A first turn found something of its instance.
    NotFirst,
}

impl TurnResult {
    const ALL: [Self; 5] =
        [Self::Committed, Self::UnknownToken, Self::LeaseExpired, Self::NotCurrent, Self::NotFirst];

    const fn named_code(self) -> (&'static str, i32) {
        match self {
            Self::Committed => ("{COMMITTED}", 0),
            Self::UnknownToken => ("{UNKNOWN_TOKEN}", 1),
            Self::LeaseExpired => ("{LEASE_EXPIRED}", 2),
            Self::NotCurrent => ("{NOT_CURRENT}", 3),
            Self::NotFirst => ("{NOT_FIRST}", 4),
        }
    }

    /// The result that a function returned; `None` for a code of no known function.
    pub(crate) fn from_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|result| result.named_code().1 == code)
    }
}

const MESSAGE_KINDS: [MessageKind; 3] =
    [MessageKind::Other, MessageKind::Start, MessageKind::Queue];

const fn named_message_kind(kind: MessageKind) -> (&'static str, i16) {
    match kind {
        MessageKind::Other => ("{KIND_OTHER}", 0),
        MessageKind::Start => ("{KIND_START}", 1),
        MessageKind::Queue => ("{KIND_QUEUE}", 2),
    }
}

/// The stored form of a message's kind.
pub(crate) fn message_kind(kind: MessageKind) -> i16 {
    named_message_kind(kind).1
}

/// What a key-value change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KvOperation {
    Set,
    Clear,
    ClearAll,
}

impl KvOperation {
    const ALL: [Self; 3] = [Self::Set, Self::Clear, Self::ClearAll];

    const fn named_code(self) -> (&'static str, i16) {
        match self {
            Self::Set => ("{KV_SET}", 0),
            Self::Clear => ("{KV_CLEAR}", 1),
            Self::ClearAll => ("{KV_CLEAR_ALL}", 2),
        }
    }

    /// The number that `write_kv` expects.
    pub(crate) fn code(self) -> i16 {
        self.named_code().1
    }
}

/// A function's text with numbers in place of their names.
pub(crate) fn with_numbers(sql: &str) -> String {
    let results = TurnResult::ALL.map(TurnResult::named_code);
    let kinds = MESSAGE_KINDS.map(named_message_kind);
    let operations = KvOperation::ALL.map(KvOperation::named_code);
    let small = kinds.into_iter().chain(operations);
    let all = results.into_iter().chain(small.map(|(name, code)| (name, i32::from(code))));
    all.fold(sql.to_owned(), |sql, (name, code)| sql.replace(name, &code.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_found_by_its_code() {
        for result in TurnResult::ALL {
            assert_eq!(TurnResult::from_code(result.named_code().1), Some(result));
        }
        assert_eq!(TurnResult::from_code(99), None);
    }

    #[test]
    fn names_become_numbers() {
        let sql = "SELECT {COMMITTED}, {NOT_FIRST}, {KIND_START}, {KV_CLEAR_ALL}, '{}'";
        assert_eq!(with_numbers(sql), "SELECT 0, 4, 1, 2, '{}'");
    }
}
