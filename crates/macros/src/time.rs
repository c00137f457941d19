//! Durations in attributes: `"30s"`.

use std::time::Duration;

use syn::LitStr;
use syn::meta::ParseNestedMeta;

use crate::options::text;

const EXPECTED: &str = "expected a duration such as \"500ms\", \"30s\", \"5m\", \"2h\" or \"1d\"";

const UNITS: &[(&str, u64)] =
    &[("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Reads the value of an option that is a duration: a number and a unit.
pub(crate) fn duration(meta: &ParseNestedMeta<'_>) -> syn::Result<Duration> {
    parse(&text(meta, EXPECTED)?)
}

fn parse(text: &LitStr) -> syn::Result<Duration> {
    let value = text.value();
    let digits = value.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = &value[digits.len()..];
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, millis)| *millis);
    let millis = digits.parse::<u64>().ok().zip(scale).and_then(|(n, scale)| n.checked_mul(scale));
    millis.map(Duration::from_millis).ok_or_else(|| syn::Error::new(text.span(), EXPECTED))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Duration> {
        parse(&LitStr::new(text, proc_macro2::Span::call_site())).ok()
    }

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        assert_eq!(read("500ms"), Some(Duration::from_millis(500)));
        assert_eq!(read("30s"), Some(Duration::from_secs(30)));
        assert_eq!(read("5 m"), None);
        assert_eq!(read("2h"), Some(Duration::from_secs(7200)));
        assert_eq!(read("1d"), Some(Duration::from_secs(86_400)));
        for wrong in ["", "s", "30", "30 s.", "-1s", "1.5s", "99999999999999999999s"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        assert_eq!(read("18446744073709551615d"), None, "too long to count");
    }
}
