//! The stored form of search attributes: values under reserved keys of the key-value state.
//!
//! The text of a value sorts as the value does among those of its type, so that an index over keys
//! and values finds ranges. The first letter is the type.

use std::collections::BTreeMap;

use super::{AttributeValue, Attributes, Event, EventKind, INITIAL_EVENT_ID};

/// How the key of every attribute begins.
pub const ATTRIBUTE_KEYS_FROM: &str = "__duroxide_attribute:";

/// The first key behind those of attributes.
pub const ATTRIBUTE_KEYS_END: &str = "__duroxide_attribute;";

/// Name of the message that carries the attributes of a start to the first turn. Stores keep them
/// in the text of the start itself.
pub(crate) const ATTRIBUTES_MESSAGE: &str = "__duroxide_attributes";

const SIGN: u64 = 1 << 63;

/// The key under which an attribute is stored.
pub(crate) fn attribute_key(name: &str) -> String {
    format!("{ATTRIBUTE_KEYS_FROM}{name}")
}

/// Whether a key is that of an attribute, which belongs to no user.
pub(crate) fn is_attribute_key(key: &str) -> bool {
    key.starts_with(ATTRIBUTE_KEYS_FROM)
}

/// The stored text of a value.
pub(crate) fn encode_attribute(value: &AttributeValue) -> String {
    match value {
        AttributeValue::Text(text) => format!("t{text}"),
        AttributeValue::Integer(number) => format!("i{:016x}", number.cast_unsigned() ^ SIGN),
        AttributeValue::Float(number) => format!("f{:016x}", sortable(*number)),
        AttributeValue::Bool(is_true) => format!("b{}", u8::from(*is_true)),
        AttributeValue::Time(ms) => format!("m{ms:016x}"),
    }
}

/// Whether an event records an attribute that the start had. The code sees it from its first poll
/// on.
pub(crate) fn is_start_attribute(event: &Event) -> bool {
    let EventKind::KeyValueSet { key, .. } = &event.kind else { return false };
    event.source_event_id == Some(INITIAL_EVENT_ID) && is_attribute_key(key)
}

/// Attributes by name, each as its stored text.
pub(crate) fn encode_attributes(attributes: &Attributes) -> BTreeMap<String, String> {
    let encoded = attributes.iter().map(|(name, value)| (name.clone(), encode_attribute(value)));
    encoded.collect()
}

/// The name and the value of a stored attribute; `None` if they are something else.
pub fn decode_attribute(key: &str, stored: &str) -> Option<(String, AttributeValue)> {
    let name = key.strip_prefix(ATTRIBUTE_KEYS_FROM)?;
    let mut rest = stored.chars();
    let kind = rest.next()?;
    let rest = rest.as_str();
    let bits = || u64::from_str_radix(rest, 16).ok();
    let value = match kind {
        't' => AttributeValue::Text(rest.to_owned()),
        'i' => AttributeValue::Integer((bits()? ^ SIGN).cast_signed()),
        'f' => AttributeValue::Float(unsorted(bits()?)),
        'b' => AttributeValue::Bool(rest == "1"),
        'm' => AttributeValue::Time(bits()?),
        _of_a_later_release => return None,
    };
    Some((name.to_owned(), value))
}

/// Bits that sort as the numbers do: negative ones are turned around and come first.
fn sortable(number: f64) -> u64 {
    // Both zeros are equal.
    let bits = (number + 0.0).to_bits();
    if bits & SIGN == 0 { bits | SIGN } else { !bits }
}

fn unsorted(bits: u64) -> f64 {
    f64::from_bits(if bits & SIGN == 0 { !bits } else { bits & !SIGN })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn round(value: AttributeValue) -> Option<(String, AttributeValue)> {
        decode_attribute(&attribute_key("a.b"), &encode_attribute(&value))
    }

    proptest! {
        #[test]
        fn integers_sort_as_their_texts(one: i64, other: i64) {
            let text = |number: i64| encode_attribute(&number.into());
            prop_assert_eq!(one.cmp(&other), text(one).cmp(&text(other)));
            prop_assert_eq!(round(one.into()), Some(("a.b".to_owned(), one.into())));
        }

        #[test]
        fn floats_sort_as_their_texts(one in -1e300..1e300_f64, other in -2.0..2.0_f64) {
            let text = |number: f64| encode_attribute(&number.into());
            prop_assert_eq!(one.total_cmp(&other), text(one).cmp(&text(other)));
            prop_assert_eq!(round(one.into()), Some(("a.b".to_owned(), one.into())));
        }

        #[test]
        fn texts_and_times_are_read_back(text in ".{0,20}", ms: u64) {
            for value in [AttributeValue::Text(text), AttributeValue::Time(ms)] {
                prop_assert_eq!(round(value.clone()), Some(("a.b".to_owned(), value)));
            }
        }
    }

    #[test]
    fn what_is_no_attribute_is_left_out() {
        assert_eq!(round(true.into()), Some(("a.b".to_owned(), true.into())));
        assert_eq!(encode_attribute(&(-0.0).into()), encode_attribute(&0.0.into()));
        assert_eq!(decode_attribute("price", "i12"), None);
        assert_eq!(decode_attribute(&attribute_key("x"), "z"), None);
        assert_eq!(decode_attribute(&attribute_key("x"), ""), None);
        assert_eq!(decode_attribute(&attribute_key("x"), "ixyz"), None);
        assert!(ATTRIBUTE_KEYS_FROM < attribute_key("z").as_str());
        assert!(attribute_key("z").as_str() < ATTRIBUTE_KEYS_END);
    }
}
