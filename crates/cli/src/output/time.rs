//! Times, durations and sizes as text.

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A time in UTC: `2026-01-31T12:00:00.123Z`.
pub(crate) fn iso(ms: u64) -> String {
    let (year, month, day) = civil(ms / DAY);
    let rest = ms % DAY;
    let (hour, minute) = (rest / HOUR, rest % HOUR / MINUTE);
    let (second, milli) = (rest % MINUTE / SECOND, rest % SECOND);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// The date of a day since 1970-01-01. Years begin in March here, so that leap days come last.
fn civil(day: u64) -> (u64, u64, u64) {
    // Days of 400 years, 100 years, 4 years and one year.
    const ERA: u64 = 146_097;
    let shifted = day + 719_468;
    let (era, in_era) = (shifted / ERA, shifted % ERA);
    let year_in_era = (in_era - in_era / 1_460 + in_era / 36_524 - in_era / (ERA - 1)) / 365;
    let in_year = in_era - (365 * year_in_era + year_in_era / 4 - year_in_era / 100);
    let month_from_march = (5 * in_year + 2) / 153;
    let day = in_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_in_era + era * 400 + u64::from(month <= 2);
    (year, month, day)
}

/// A duration for people, with two units at the most: `350ms`, `4.2s`, `3m 12s`, `2d 4h`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..SECOND => format!("{ms}ms"),
        SECOND..MINUTE => format!("{}.{}s", ms / SECOND, ms % SECOND / 100),
        MINUTE..HOUR => format!("{}m {}s", ms / MINUTE, ms % MINUTE / SECOND),
        HOUR..DAY => format!("{}h {}m", ms / HOUR, ms % HOUR / MINUTE),
        DAY.. => format!("{}d {}h", ms / DAY, ms % DAY / HOUR),
    }
}

/// A size for people: `512 B`, `1.5 KiB`, `20.0 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut tenths = u128::from(bytes) * 10 / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < units.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_utc() {
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(iso(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso(1_735_689_600_123), "2025-01-01T00:00:00.123Z");
        assert_eq!(iso(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
    }

    #[test]
    fn durations_have_two_units_at_the_most() {
        let texts = [0, 350, 4_210, 60_000, 192_000, 7_200_000, 187_200_000].map(duration);
        assert_eq!(texts, ["0ms", "350ms", "4.2s", "1m 0s", "3m 12s", "2h 0m", "2d 4h"]);
    }

    #[test]
    fn sizes_have_one_digit_behind_the_point() {
        let texts = [0, 1023, 1536, 20 << 20, 3 << 40].map(size);
        assert_eq!(texts, ["0 B", "1023 B", "1.5 KiB", "20.0 MiB", "3.0 TiB"]);
    }
}
