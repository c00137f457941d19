//! Values of the command line that several commands share.

use std::io::Read;
use std::time::Duration;

use clap::Args;

use crate::failure::{Failure, Result};
use crate::input;
use crate::limits;

/// Reads `500ms`, `30s`, `5m`, `2h`, `7d`, or a number of seconds.
pub(crate) fn parse_duration(text: &str) -> std::result::Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let wrong = || format!("'{text}' is no duration: write one like 500ms, 30s, 5m, 2h or 7d");
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let millis = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        "d" => 24 * 60 * 60 * 1_000,
        _ => return Err(wrong()),
    };
    number.checked_mul(millis).map(Duration::from_millis).ok_or_else(wrong)
}

/// How a value of the command line becomes the text that an instance gets.
#[derive(Debug, Clone, Args)]
pub(crate) struct ValueForm {
    /// Send the value as it is, without checking that it is JSON
    #[arg(long)]
    pub(crate) text: bool,
}

impl ValueForm {
    /// The value itself, the content of a file (`@FILE`), or of standard input (`-`).
    pub(crate) async fn read(&self, value: Option<&str>) -> Result<String> {
        let text = match value {
            None => return Ok(String::new()),
            Some("-") => {
                input::read(|| read_all("standard input", std::io::stdin().lock())).await??
            }
            Some(value) => match value.strip_prefix('@') {
                Some(path) => {
                    let file = std::fs::File::open(path);
                    let file = file.map_err(|error| unreadable(path, &error))?;
                    read_all(path, file)?
                }
                None => value.to_owned(),
            },
        };
        if self.text {
            return Ok(text);
        }
        match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
            Ok(_) => Ok(text),
            Err(error) => Err(Failure::usage(format!(
                "the value is not JSON ({error}): write a text in quotes, '\"like this\"', or use \
                 --text to send it as it is"
            ))),
        }
    }
}

fn read_all(place: &str, input: impl Read) -> Result<String> {
    let mut text = String::new();
    let mut limited = input.take(limits::INPUT_BYTES_MAX + 1);
    limited.read_to_string(&mut text).map_err(|error| unreadable(place, &error))?;
    if text.len() as u64 > limits::INPUT_BYTES_MAX {
        let most = limits::INPUT_BYTES_MAX / (1024 * 1024);
        return Err(Failure::usage(format!("{place} has more than {most} MiB")));
    }
    Ok(text)
}

fn unreadable(place: &str, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{place} cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_or_are_seconds() {
        let millis = |text| parse_duration(text).map(|duration| duration.as_millis());
        assert_eq!(millis("500ms"), Ok(500));
        assert_eq!(millis("30"), Ok(30_000));
        assert_eq!(millis("30s"), Ok(30_000));
        assert_eq!(millis("2h"), Ok(7_200_000));
        assert_eq!(millis("7d"), Ok(604_800_000));
        for wrong in ["", "s", "-1s", "1 s", "1w", "1.5s", "99999999999999999999d"] {
            assert!(parse_duration(wrong).is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn a_value_is_json_unless_it_is_text() {
        let json = ValueForm { text: false };
        assert_eq!(json.read(None).await.unwrap(), "");
        assert_eq!(json.read(Some("{\"a\": 1}")).await.unwrap(), "{\"a\": 1}");
        assert!(json.read(Some("3 apples")).await.is_err());
        assert_eq!(ValueForm { text: true }.read(Some("3 apples")).await.unwrap(), "3 apples");
        assert!(json.read(Some("@/no/such/file")).await.is_err());
    }
}
