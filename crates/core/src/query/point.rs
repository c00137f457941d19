//! Times and lengths of time as a filter writes them.

use std::fmt;
use std::time::Duration;

use crate::model::utc::Utc;

/// The earliest number that is read as milliseconds since the Unix epoch: 1973. Shorter ones are
/// years or mistakes.
const MILLIS_MIN: u64 = 100_000_000_000;

const UNITS: [(&str, u64); 6] = [
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

/// A time in a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TimePoint {
    /// The time of the query.
    Now,
    /// This long before the query.
    Ago(Duration),
    /// This long after the query.
    In(Duration),
    /// Milliseconds since the Unix epoch.
    At(u64),
}

impl TimePoint {
    /// The time that is meant by a query at `now_ms`, in milliseconds since the Unix epoch.
    pub fn at(self, now_ms: u64) -> u64 {
        match self {
            Self::Now => now_ms,
            Self::Ago(length) => now_ms.saturating_sub(millis(length)),
            Self::In(length) => now_ms.saturating_add(millis(length)),
            Self::At(ms) => ms,
        }
    }

    /// Reads `now`, `-1h30m`, `+2d`, a date, a date with a time, or milliseconds.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == "now" {
            return Some(Self::Now);
        }
        if let Some(length) = text.strip_prefix('-') {
            return parse_length(length).map(Self::Ago);
        }
        if let Some(length) = text.strip_prefix('+') {
            return parse_length(length).map(Self::In);
        }
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return text.parse().ok().filter(|ms| *ms >= MILLIS_MIN).map(Self::At);
        }
        Utc::parse(text).map(|Utc(ms)| Self::At(ms))
    }
}

impl fmt::Display for TimePoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Now => f.write_str("now"),
            Self::Ago(length) => write!(f, "-{}", Length(*length)),
            Self::In(length) => write!(f, "+{}", Length(*length)),
            Self::At(ms) if Utc::parse(&Utc(*ms).to_string()) == Some(Utc(*ms)) => {
                write!(f, "{}", Utc(*ms))
            }
            Self::At(ms) => write!(f, "{ms}"),
        }
    }
}

/// A length of time, shown like `1h30m`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Length(pub(super) Duration);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = millis(self.0);
        if rest == 0 {
            return f.write_str("0s");
        }
        for (unit, length) in UNITS {
            let count = rest / length;
            rest %= length;
            if count > 0 {
                write!(f, "{count}{unit}")?;
            }
        }
        Ok(())
    }
}

/// Reads `90s` or `1h30m`.
pub(super) fn parse_length(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() || text.is_empty() {
        let unit_at = rest.find(|character: char| !character.is_ascii_digit())?;
        let (count, from_unit) = rest.split_at(unit_at);
        let end = from_unit.find(|character: char| character.is_ascii_digit());
        let (unit, next) = from_unit.split_at(end.unwrap_or(from_unit.len()));
        let (_, length) = UNITS.into_iter().find(|(name, _)| *name == unit)?;
        let part = count.parse::<u64>().ok()?.checked_mul(length)?;
        total = total.checked_add(Duration::from_millis(part))?;
        rest = next;
    }
    Some(total)
}

/// A length in milliseconds.
pub(super) fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_and_shown() {
        for (text, ms, shown) in [
            ("90s", 90_000, "1m30s"),
            ("1h30m", 5_400_000, "1h30m"),
            ("250ms", 250, "250ms"),
            ("2w", 1_209_600_000, "2w"),
            ("0s", 0, "0s"),
        ] {
            let length = parse_length(text).unwrap();
            assert_eq!(millis(length), ms, "{text}");
            assert_eq!(Length(length).to_string(), shown);
        }
        for text in ["", "5", "h", "1x", "1h30", "-1h", "1.5h", "99999999999999999999s"] {
            assert_eq!(parse_length(text), None, "{text}");
        }
    }

    #[test]
    fn points_are_relative_or_absolute() {
        let now = 1_000_000_000_000;
        for (text, at) in [
            ("now", now),
            ("-1h", now - 3_600_000),
            ("+1d", now + 86_400_000),
            ("2026-01-31T12:00:00Z", 1_769_860_800_000),
            ("1769860800000", 1_769_860_800_000),
        ] {
            let point = TimePoint::parse(text).unwrap();
            assert_eq!(point.at(now), at, "{text}");
            assert_eq!(TimePoint::parse(&point.to_string()), Some(point));
        }
        for text in ["", "2026", "1h", "yesterday", "-", "+", "-1"] {
            assert_eq!(TimePoint::parse(text), None, "{text}");
        }
        assert_eq!(TimePoint::Ago(Duration::from_secs(9)).at(5), 0);
    }
}
