//! The parameters in a connection text, found where the driver finds them.
//!
//! The grammar is the driver's, which is libpq's. What it does not cover is refused: a parameter
//! that this module missed would not be understood, and one that it found in a password would be
//! wrong.

use std::ops::Range;

/// What becomes of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// The driver gets it as it was written.
    Kept,
    /// The driver gets another one.
    Replaced(&'static str),
    /// The driver does not get it.
    Removed,
}

/// The text for the driver, after `decide` has seen each parameter, decoded, in order. An error
/// never repeats a part of the text, which may hold a password.
pub(crate) fn rewrite(
    text: &str,
    decide: impl FnMut((&str, &str)) -> Parameter,
) -> Result<String, String> {
    let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
    if is_url {
        let start = start_of_query(text)?;
        let Some(start) = start else { return Ok(text.to_owned()) };
        let found = query_parameters(text, start)?;
        let kept = rewritten(text, &found, decide)?;
        let base = &text[..start - 1];
        Ok(if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) })
    } else if text.contains('=') {
        Ok(rewritten(text, &pairs(text)?, decide)?.join(" "))
    } else {
        Err("it begins neither with postgres:// nor holds key=value".to_owned())
    }
}

/// One parameter: its text, and its key and value decoded.
struct Found {
    text: Range<usize>,
    key: String,
    value: String,
}

fn rewritten(
    text: &str,
    found: &[Found],
    mut decide: impl FnMut((&str, &str)) -> Parameter,
) -> Result<Vec<String>, String> {
    let mut kept = Vec::new();
    for Found { text: range, key, value } in found {
        // Errors of the driver name the parameter, and this may be anything.
        if !key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') {
            return Err("the name of a parameter is not valid".to_owned());
        }
        match decide((key, value)) {
            Parameter::Kept => kept.push(text[range.clone()].to_owned()),
            Parameter::Replaced(other) => kept.push(other.to_owned()),
            Parameter::Removed => {}
        }
    }
    Ok(kept)
}

/// Where the parameters of a URL begin. What comes before the first '@' is user and password.
fn start_of_query(url: &str) -> Result<Option<usize>, String> {
    let credentials = url.find("://").map_or(0, |at| at + 3);
    let hosts = match url[credentials..].find('@') {
        Some(at) => credentials + at + 1,
        None => credentials,
    };
    let user_and_password = &url[credentials..hosts];
    if says_ssl(user_and_password) {
        return Err("it is not clear whether '?' or '@' comes first: write '?' in a password as \
                    %3F and '@' in a parameter as %40"
            .to_owned());
    }
    Ok(url[hosts..].find('?').map(|at| hosts + at + 1))
}

/// Whether what stands before the '@' may be parameters about encryption, in a URL without user.
fn says_ssl(user_and_password: &str) -> bool {
    let after = user_and_password.split_once('?').map(|(_, after)| after);
    after.is_some_and(|after| decoded(after).is_none_or(|after| after.contains("ssl")))
}

fn query_parameters(url: &str, start: usize) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    let mut at = start;
    while at < url.len() {
        let equals = url[at..].find('=').ok_or("a parameter has no value")? + at;
        let end = url[equals..].find('&').map_or(url.len(), |length| equals + length);
        found.push(Found {
            text: at..end,
            key: decoded(&url[at..equals]).ok_or("a parameter is not UTF-8")?,
            value: decoded(&url[equals + 1..end]).ok_or("a parameter is not UTF-8")?,
        });
        at = end + 1;
    }
    Ok(found)
}

/// Undoes `%41` and the like.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digit = |place: usize| after.get(place).and_then(|it| char::from(*it).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).ok()?);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// `key = value` or `key = 'value'`, where a backslash stands before any character.
fn pairs(text: &str) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let start = text.len() - rest.len();
        let length = rest.find(|it: char| it == '=' || it.is_whitespace()).unwrap_or(rest.len());
        let (key, after) = rest.split_at(length);
        let value = after.trim_start().strip_prefix('=').ok_or("a parameter has no value")?;
        let (value, after) = pair_value(value.trim_start()).ok_or("a value has no end")?;
        if key.is_empty() {
            // The driver would ignore the rest of the text.
            return Err("a parameter has no name".to_owned());
        }
        let end = text.len() - after.len();
        found.push(Found { text: start..end, key: key.to_owned(), value });
        rest = after.trim_start();
    }
    Ok(found)
}

/// The value at the start of a text, and what follows it.
fn pair_value(text: &str) -> Option<(String, &str)> {
    let quoted = text.starts_with('\'');
    let text = text.strip_prefix('\'').unwrap_or(text);
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\'' if quoted => return Some((value, &text[at + 1..])),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            it if !quoted && it.is_whitespace() => return Some((value, &text[at..])),
            it => value.push(it),
        }
    }
    (!quoted).then_some((value, ""))
}
