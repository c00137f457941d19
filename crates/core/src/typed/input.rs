//! Inputs of calls, by value or by reference.

use serde::Serialize;

use crate::model::codec;

/// A value that can be the input of a call: a `T`, a reference to one, or a `&str` where the input
/// is a `String`.
///
/// # Examples
///
/// ```
/// # use duroxide_core as duroxide;
///
/// use duroxide::typed::CallInput;
///
/// fn stored<T>(input: impl CallInput<T>) -> Result<String, String> {
///     input.encode()
/// }
///
/// assert_eq!(stored::<u64>(7).as_deref(), Ok("7"));
/// assert_eq!(stored::<u64>(&7).as_deref(), Ok("7"));
/// assert_eq!(stored::<String>("seven").as_deref(), Ok("seven"));
/// assert_eq!(stored::<(u64, String)>((7, "x".to_owned())).as_deref(), Ok(r#"[7,"x"]"#));
/// ```
#[diagnostic::on_unimplemented(
    message = "the input of this call is `{T}`, not `{Self}`",
    label = "expected `{T}` or `&{T}`",
    note = "the input is what the function takes after its context: several parameters are one \
            tuple, none is `()`"
)]
pub trait CallInput<T> {
    /// The text that is stored.
    ///
    /// # Errors
    /// When the value cannot be encoded.
    fn encode(&self) -> Result<String, String>;
}

impl<T: Serialize> CallInput<T> for T {
    fn encode(&self) -> Result<String, String> {
        codec::encode(self)
    }
}

impl<T: Serialize> CallInput<T> for &T {
    fn encode(&self) -> Result<String, String> {
        codec::encode(*self)
    }
}

impl CallInput<String> for &str {
    fn encode(&self) -> Result<String, String> {
        Ok((*self).to_owned())
    }
}
