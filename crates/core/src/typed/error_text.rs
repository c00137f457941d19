//! The stored text of a typed error.
//!
//! The text of an error is its `Display`, as code without types wrote it and reads it. If that does
//! not contain the whole error, one more line follows: a mark and a JSON object with the error
//! itself and with what it says about another attempt.

use std::fmt;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error_kind::{ErrorKind, kind_of_text};
use super::hint::RetryHint;
use crate::clock::millis;
use crate::model::codec;

/// Begins the last line of a text that carries a typed error.
const MARK: &str = "#duroxide-error ";

/// An error that can be stored. `Form` says how and is inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of an activity or orchestration",
    label = "this error cannot be stored",
    note = "derive `Serialize` and `Deserialize` and implement `Display`, for example with \
            `thiserror`; `String`, `anyhow::Error` and `Box<dyn Error + Send + Sync>` work as they \
            are"
)]
pub trait RecordedError<Form>: Sized {
    /// The text that is stored.
    fn encode(&self, hint: RetryHint) -> String;

    /// The error of a stored text, if it is one of this type.
    fn decode(text: &str) -> Option<Self>;
}

/// The form of errors that serialize.
#[derive(Debug, Clone, Copy)]
pub struct AsJson;

/// The form of errors that are known by their text only, such as `anyhow::Error`.
#[derive(Debug, Clone, Copy)]
pub struct AsText;

/// The text of an error that was stored without a type.
///
/// # Examples
///
/// ```
/// # extern crate duroxide_core as duroxide;
/// # use duroxide_macros::{activity, orchestration};
///
/// use std::fmt;
///
/// use duroxide::ActivityContext;
/// use duroxide::typed::ErrorText;
///
/// /// An error that is stored as its text, without `Serialize`.
/// #[derive(Debug)]
/// struct Failure(String);
///
/// impl fmt::Display for Failure {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         f.write_str(&self.0)
///     }
/// }
///
/// impl From<ErrorText> for Failure {
///     fn from(text: ErrorText) -> Self {
///         Self(text.to_string())
///     }
/// }
///
/// #[activity]
/// async fn charge(_ctx: ActivityContext, _cents: u64) -> Result<String, Failure> {
///     Err(Failure("no bank here".to_owned()))
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorText(String);

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ErrorText {}

/// The stored text of an error.
pub fn encode_error<E: RecordedError<Form>, Form>(error: &E, hint: RetryHint) -> String {
    error.encode(hint)
}

/// The error of a stored text, if it is one of this type.
pub fn decode_error<E: RecordedError<Form>, Form>(text: &str) -> Option<E> {
    E::decode(text)
}

impl<E: Serialize + DeserializeOwned + fmt::Display> RecordedError<AsJson> for E {
    fn encode(&self, hint: RetryHint) -> String {
        let text = self.to_string();
        // An error that does not serialize is at least known by its text.
        let Ok(json) = serde_json::to_value(self) else {
            return StoredError { text: &text, trailer: Trailer::of(None, hint) }.to_string();
        };
        let is_whole = || {
            let read: Option<E> = codec::decode(&text).ok();
            read.and_then(|error| serde_json::to_value(error).ok()).is_some_and(|it| it == json)
        };
        let error = if is_plain(&text) && is_whole() { None } else { Some(json) };
        StoredError { text: &text, trailer: Trailer::of(error, hint) }.to_string()
    }

    fn decode(text: &str) -> Option<Self> {
        let stored = StoredError::parse(text);
        match stored.trailer.error {
            Some(error) => serde_json::from_value(error).ok(),
            None => codec::decode(stored.text).ok(),
        }
    }
}

impl<E: fmt::Display + From<ErrorText>> RecordedError<AsText> for E {
    fn encode(&self, hint: RetryHint) -> String {
        // The alternate form of `anyhow::Error` has all causes; others have one form.
        let text = format!("{self:#}");
        let error = (!is_plain(&text)).then(|| Value::String(text.clone()));
        StoredError { text: &text, trailer: Trailer::of(error, hint) }.to_string()
    }

    fn decode(text: &str) -> Option<Self> {
        Some(ErrorText(StoredError::parse(text).text.to_owned()).into())
    }
}

/// Whether a text without a typed error is read as the error of the code.
fn is_plain(text: &str) -> bool {
    kind_of_text(text) == ErrorKind::App && split(text).is_none()
}

/// A stored text in its parts.
#[derive(Debug)]
pub(crate) struct StoredError<'a> {
    /// What people read.
    pub(crate) text: &'a str,
    trailer: Trailer,
}

/// The last line of a stored text.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Trailer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

impl Trailer {
    fn of(error: Option<Value>, hint: RetryHint) -> Self {
        let (retry, retry_after_ms) = match hint {
            RetryHint::Policy => (None, None),
            RetryHint::Never => (Some(false), None),
            RetryHint::After(wait) => (None, Some(millis(wait))),
        };
        Self { error, retry, retry_after_ms }
    }

    fn is_empty(&self) -> bool {
        self.error.is_none() && self.retry.is_none() && self.retry_after_ms.is_none()
    }
}

impl<'a> StoredError<'a> {
    /// The parts of a text. A text without a typed error is all text.
    pub(crate) fn parse(text: &'a str) -> Self {
        match split(text) {
            Some((text, trailer)) => Self { text, trailer },
            None => Self { text, trailer: Trailer::default() },
        }
    }

    /// Whether code with types wrote it.
    pub(crate) fn is_typed(&self) -> bool {
        !self.trailer.is_empty()
    }

    /// What the error says about another attempt.
    pub(crate) fn retry_hint(&self) -> RetryHint {
        match (self.trailer.retry, self.trailer.retry_after_ms) {
            (Some(false), _) => RetryHint::Never,
            (_, Some(wait)) => RetryHint::After(Duration::from_millis(wait)),
            (_, None) => RetryHint::Policy,
        }
    }
}

impl fmt::Display for StoredError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text)?;
        if self.trailer.is_empty() {
            return Ok(());
        }
        let json = serde_json::to_string(&self.trailer).map_err(|_json| fmt::Error)?;
        write!(f, "\n{MARK}{json}")
    }
}

fn split(text: &str) -> Option<(&str, Trailer)> {
    let (text, last) = text.rsplit_once('\n')?;
    let trailer: Trailer = serde_json::from_str(last.strip_prefix(MARK)?).ok()?;
    (!trailer.is_empty()).then_some((text, trailer))
}
