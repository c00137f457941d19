//! Values of search attributes and announcements of nodes, as they are stored.

use duroxide::providers::kit::{decode_announced_turns, decode_attribute, encode_announced_turns};

use crate::target::{Target, Verdict, require};

pub(super) const TARGET: Target = Target { name: "attributes", seeds: Vec::new, read };

fn read(input: &[u8]) -> Verdict {
    let text = String::from_utf8_lossy(input);
    let (key, value) = text.split_once('\n').unwrap_or((&text, ""));
    let attribute = decode_attribute(key, value);
    let turns = decode_announced_turns(&text);
    if let Some(turns) = &turns {
        let stored = encode_announced_turns(turns).map_err(|error| error.to_string())?;
        let again = decode_announced_turns(&stored);
        require(again.as_ref() == Some(turns), || format!("{turns:?} is read as {again:?}"))?;
    }
    let kind = attribute.map(|(_, value)| std::mem::discriminant(&value));
    Ok(format!("{kind:?} {}", turns.is_some()))
}
