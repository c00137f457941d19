//! Times as people write them, in UTC.

use std::fmt;

const DAY_MS: u64 = 86_400_000;

/// The last time that is shown as a date: the end of the year 9999.
const LAST_MS: u64 = 253_402_300_799_999;

/// Milliseconds since the Unix epoch, shown like `2026-01-31T12:00:00Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Utc(pub(crate) u64);

impl fmt::Display for Utc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.min(LAST_MS);
        let (year, month, day) = date_of(ms / DAY_MS);
        let (hour, minute) = (ms / 3_600_000 % 24, ms / 60_000 % 60);
        let (second, fraction) = (ms / 1000 % 60, ms % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        if fraction > 0 {
            write!(f, ".{fraction:03}")?;
        }
        f.write_str("Z")
    }
}

impl Utc {
    /// Reads `2026-01-31`, `2026-01-31T12:00`, `2026-01-31T12:00:00.250Z` or the same with an
    /// offset such as `+02:00`. Without `Z` or an offset it is UTC.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (date, time) = match text.split_once(['T', 't']) {
            Some((date, time)) => (date, time),
            None => (text, "00:00"),
        };
        let mut parts = date.split('-');
        let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || year.len() != 4 || month.len() != 2 || day.len() != 2 {
            return None;
        }
        let (year, month, day) = (digits(year)?, digits(month)?, digits(day)?);
        if !(1970..=9999).contains(&year) || day == 0 || day > days_in(year, month)? {
            return None;
        }
        let (time, offset_ms) = split_offset(time)?;
        let local = days_since_epoch(year, month, day) * DAY_MS + time_of_day(time)?;
        Some(Self(local.checked_add_signed(-offset_ms)?))
    }
}

/// A time of day and its distance from UTC.
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(utc) = time.strip_suffix(['Z', 'z']) {
        return Some((utc, 0));
    }
    let Some(sign) = time.find(['+', '-']) else { return Some((time, 0)) };
    let (local, offset) = time.split_at(sign);
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes) = (digits(hours)?, digits(minutes)?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let ms = i64::try_from((hours * 60 + minutes) * 60_000).ok()?;
    Some((local, if offset.starts_with('-') { -ms } else { ms }))
}

fn time_of_day(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let (hour, minute) = (parts.next()?, parts.next()?);
    let second = parts.next();
    let is_odd = |part: &str| part.len() != 2;
    if parts.next().is_some() || is_odd(hour) || is_odd(minute) || second.is_some_and(is_odd) {
        return None;
    }
    if (text.contains('.') && fraction.is_empty()) || (!fraction.is_empty() && second.is_none()) {
        return None;
    }
    let (hour, minute, second) = (digits(hour)?, digits(minute)?, digits(second.unwrap_or("00"))?);
    if hour > 23 || minute > 59 || second > 59 || fraction.len() > 9 {
        return None;
    }
    let millis = match fraction {
        "" => 0,
        // Only digits can be cut anywhere. What is finer than a millisecond is cut off.
        fraction => digits(fraction).and_then(|_| digits(&format!("{fraction:0<3}")[..3]))?,
    };
    Some(((hour * 60 + minute) * 60 + second) * 1000 + millis)
}

/// A number of digits only.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in(year: u64, month: u64) -> Option<u64> {
    match month {
        2 => Some(28 + u64::from(is_leap(year))),
        4 | 6 | 9 | 11 => Some(30),
        1 | 3 | 5 | 7 | 8 | 10 | 12 => Some(31),
        _ => None,
    }
}

/// Days before a year since 1970.
fn days_before(year: u64) -> u64 {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    (year - 1970) * 365 + leaps(year - 1) - leaps(1969)
}

fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    let before: u64 = (1..month).filter_map(|month| days_in(year, month)).sum();
    days_before(year) + before + day - 1
}

fn date_of(days: u64) -> (u64, u64, u64) {
    // No year has more than 366 days, so this is never too late.
    let mut year = 1970 + days / 366;
    while days_before(year + 1) <= days {
        year += 1;
    }
    let mut rest = days - days_before(year);
    let mut month = 1;
    while let Some(length) = days_in(year, month).filter(|length| rest >= *length) {
        rest -= length;
        month += 1;
    }
    (year, month, rest + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_times_are_shown_and_read() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_700_000_000_000, "2023-11-14T22:13:20Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (LAST_MS, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Utc(ms).to_string(), text);
            assert_eq!(Utc::parse(text), Some(Utc(ms)), "{text}");
        }
        assert_eq!(Utc(u64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn every_day_of_centuries_returns_to_itself() {
        for day in (0..200_000).map(|day| day * DAY_MS) {
            assert_eq!(Utc::parse(&Utc(day).to_string()), Some(Utc(day)));
        }
    }

    #[test]
    fn shorter_forms_and_offsets_are_read() {
        let noon = Utc::parse("2026-01-31T12:00:00Z").unwrap();
        for text in [
            "2026-01-31T12:00",
            "2026-01-31T12:00:00",
            "2026-01-31t12:00:00.0z",
            "2026-01-31T14:00+02:00",
            "2026-01-31T06:30:00-05:30",
            "2026-01-31T12:00:00.000999Z",
        ] {
            assert_eq!(Utc::parse(text), Some(noon), "{text}");
        }
        assert_eq!(Utc::parse("2026-01-31").unwrap().0, noon.0 - 12 * 3_600_000);
        assert_eq!(Utc::parse("2026-01-31T12:00:00.25").unwrap().0, noon.0 + 250);
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "2026",
            "2026-02-30",
            "2026-13-01",
            "2026-1-1",
            "1969-12-31",
            "2026-01-31T",
            "2026-01-31T24:00",
            "2026-01-31T12:60",
            // A character of several bytes in a fraction was cut in two, which panicked.
            "2026-01-31T12:00:00.00é",
            "2026-01-31T12:00:00.1𝄞",
            "2026-01-31T12",
            "2026-01-31T12:00:00.",
            "2026-01-31T12:00+2",
            "1970-01-01T00:00+01:00",
            "2026-01-31T12:00.5",
            "+026-01-01",
            "2026-01-31T12:00:00.x",
            "2026-01-31T12:00:00.1234567890",
        ] {
            assert_eq!(Utc::parse(text), None, "{text}");
        }
    }
}
