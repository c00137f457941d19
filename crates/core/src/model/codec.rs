//! Encodes typed values as the text that is stored.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Encodes a value: strings as they are, everything else as compact JSON.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String, String> {
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    if let Value::String(text) = value { Ok(text) } else { Ok(value.to_string()) }
}

/// Like [`decode`], with an error that names what is decoded and the type.
pub fn decode_as<T: DeserializeOwned>(
    what: impl FnOnce() -> String,
    text: &str,
) -> Result<T, String> {
    decode(text).map_err(|error| {
        format!("cannot decode {} as {}: {error}", what(), std::any::type_name::<T>())
    })
}

/// Decodes a value: as JSON if that fits the type, else as a plain string.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_str(text).or_else(|json_error| {
        serde_json::from_value(Value::String(text.to_owned()))
            .map_err(|_plain_string_does_not_fit_either| json_error.to_string())
    })
}
