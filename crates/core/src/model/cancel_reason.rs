//! The reason of a cancellation, and the parent that sent it.
//!
//! A parent names a child by its id alone, and an unrelated instance may have that id. The child
//! therefore compares the sender with its own parent. The fields of a work item are public and
//! fixed, so that in memory the sender follows the reason, behind a control character; in the
//! stored form it is a key of its own, which older readers ignore.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Separates the reason from the sender.
const SEPARATOR: char = '\u{1f}';

/// The call of a parent: its instance, execution and schedule event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CancellingParent(pub(crate) String, pub(crate) u64, pub(crate) u64);

/// The stored keys.
#[derive(Serialize, Deserialize)]
struct Stored {
    reason: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<CancellingParent>,
}

/// The reason of a cancellation that a parent sends to the child of this call.
pub(crate) fn by_parent(reason: &str, parent: &CancellingParent) -> String {
    let sender = serde_json::to_string(parent).unwrap_or_default();
    format!("{reason}{SEPARATOR}{sender}")
}

/// The reason itself, and the parent that sent it, if one did.
pub(crate) fn split(reason: &str) -> (&str, Option<CancellingParent>) {
    let parts = reason.split_once(SEPARATOR);
    let sent = parts.and_then(|(text, sender)| Some((text, serde_json::from_str(sender).ok()?)));
    sent.map_or((reason, None), |(text, sender)| (text, Some(sender)))
}

pub(super) fn serialize<S: Serializer>(reason: &str, serializer: S) -> Result<S::Ok, S::Error> {
    let (text, parent) = split(reason);
    Stored { reason: text.to_owned(), parent }.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let Stored { reason, parent } = Stored::deserialize(deserializer)?;
    Ok(match parent {
        Some(parent) => by_parent(&reason, &parent),
        None => reason,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::WorkItem;

    #[test]
    fn the_sender_is_a_stored_key_of_its_own() {
        let sender = CancellingParent("p".to_owned(), 2, 7);
        let cancel = WorkItem::CancelInstance {
            instance: "i".to_owned(),
            reason: by_parent("why", &sender),
        };
        let text = serde_json::to_string(&cancel).unwrap();
        let expected = r#"{"CancelInstance":{"instance":"i","reason":"why","parent":["p",2,7]}}"#;
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<WorkItem>(&text).unwrap(), cancel);
        let WorkItem::CancelInstance { reason, .. } = cancel else { unreachable!() };
        assert_eq!(split(&reason), ("why", Some(sender)));
    }

    #[test]
    fn any_other_text_is_a_reason() {
        for reason in ["", "why", "a\u{1f}b", "\u{1f}[1]"] {
            assert_eq!(split(reason), (reason, None));
        }
    }
}
