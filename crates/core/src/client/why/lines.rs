//! Lines of text: clipped, wrapped, with times that people read.

/// Columns of a line.
const WIDTH: usize = 100;

/// Characters of a name or a short text within a line.
const NAME_MAX: usize = 60;

const MS_PER_SECOND: u64 = 1_000;
const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// The beginning of a text of at most this many characters.
pub(super) fn clipped(text: &str, characters_max: usize) -> String {
    match text.char_indices().nth(characters_max) {
        None => text.to_owned(),
        Some(_) => {
            let kept = text.chars().take(characters_max.saturating_sub(1));
            kept.chain(std::iter::once('…')).collect()
        }
    }
}

/// A text on one line, without control characters.
pub(super) fn shown(text: &str) -> String {
    let plain = text.chars().map(|it| if is_hidden(it) { ' ' } else { it });
    plain.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether a terminal obeys a character instead of showing it: control codes, line separators, and
/// those that change the direction of the text around them.
pub(super) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// A name between quotes.
pub(super) fn name(text: &str) -> String {
    format!("`{}`", clipped(&shown(text), NAME_MAX))
}

/// Adds a text under an indentation; what does not fit goes on in further lines, two columns
/// deeper.
pub(super) fn add(lines: &mut Vec<String>, indent: usize, text: &str) {
    let mut line = " ".repeat(indent);
    let mut is_empty = true;
    for word in text.split(' ') {
        let length = line.chars().count() + usize::from(!is_empty) + word.chars().count();
        if !is_empty && length > WIDTH {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent + 2)));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        is_empty = false;
        // A word that is longer than a line is cut into lines.
        let mut rest = word;
        loop {
            let room = WIDTH.saturating_sub(line.chars().count()).max(1);
            let Some((cut, _)) = rest.char_indices().nth(room) else { break };
            let (now, later) = rest.split_at(cut);
            line.push_str(now);
            lines.push(std::mem::replace(&mut line, " ".repeat(indent + 2)));
            rest = later;
        }
        line.push_str(rest);
    }
    lines.push(line);
}

/// The parts of a sentence that exist.
pub(super) fn joined(parts: impl IntoIterator<Item = Option<String>>) -> String {
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The time of an answer, from which other times are counted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now(pub(super) u64);

impl Now {
    /// A time, and how far away it is.
    pub(super) fn time(self, at_ms: u64) -> String {
        format!("{} ({})", utc(at_ms), self.distance(at_ms))
    }

    /// How far away a time is.
    pub(super) fn distance(self, at_ms: u64) -> String {
        match at_ms.checked_sub(self.0) {
            Some(0) => "now".to_owned(),
            Some(later) => format!("in {}", length(later)),
            None => format!("{} ago", length(self.0 - at_ms)),
        }
    }

    /// How long something has lasted.
    pub(super) fn since(self, at_ms: u64) -> String {
        length(self.0.saturating_sub(at_ms))
    }
}

/// A length of time in its two largest units.
pub(super) fn length(ms: u64) -> String {
    if ms < MS_PER_SECOND {
        return format!("{ms}ms");
    }
    let seconds = ms / MS_PER_SECOND;
    let units = [("d", SECONDS_PER_DAY), ("h", 3_600), ("m", 60), ("s", 1)];
    let mut rest = seconds;
    let mut parts = Vec::new();
    for (unit, size) in units {
        let count = rest / size;
        rest %= size;
        if count > 0 || !parts.is_empty() {
            parts.push(format!("{count}{unit}"));
        }
    }
    parts.truncate(2);
    parts.join(" ")
}

/// A time in the calendar, to the second.
fn utc(at_ms: u64) -> String {
    let seconds = at_ms / MS_PER_SECOND;
    let (day, second) = (seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
    let (year, month, day) = date(day);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

/// The date of a day since 1970. Years begin in March here, so that the leap day is the last.
fn date(day: u64) -> (u64, u64, u64) {
    const DAYS_BEFORE_1970: u64 = 719_468;
    const DAYS_PER_ERA: u64 = 146_097;
    let day = day + DAYS_BEFORE_1970;
    let (era, day) = (day / DAYS_PER_ERA, day % DAYS_PER_ERA);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_with_a_distance() {
        let now = Now(1_700_000_000_000);
        assert_eq!(now.time(1_700_000_000_000), "2023-11-14 22:13:20Z (now)");
        assert_eq!(now.time(1_700_000_090_000), "2023-11-14 22:14:50Z (in 1m 30s)");
        assert_eq!(now.time(1_699_913_600_000), "2023-11-13 22:13:20Z (1d 0h ago)");
        assert_eq!(utc(0), "1970-01-01 00:00:00Z");
        assert_eq!(utc(951_782_400_000), "2000-02-29 00:00:00Z");
        assert_eq!(utc(4_107_542_399_000), "2100-02-28 23:59:59Z");
        assert!(!utc(u64::MAX).is_empty());
    }

    #[test]
    fn lengths_have_two_units() {
        assert_eq!(length(999), "999ms");
        assert_eq!(length(61_000), "1m 1s");
        assert_eq!(length(3_600_000), "1h 0m");
        assert_eq!(length(90_000_000), "1d 1h");
    }

    #[test]
    fn lines_fit_the_width() {
        let mut lines = Vec::new();
        add(&mut lines, 4, &"word ".repeat(60));
        add(&mut lines, 4, &"x".repeat(250));
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH), "{lines:#?}");
        assert!(lines.len() >= 6, "{lines:#?}");
        assert!(lines[1].starts_with("      word"));
    }

    #[test]
    fn texts_are_on_one_line() {
        assert_eq!(shown("a\n\tb\u{7}c\u{202e}d"), "a b c d");
        assert_eq!(clipped("äöü", 2), "ä…");
        assert_eq!(clipped("äöü", 3), "äöü");
        assert_eq!(name(&"n".repeat(80)).chars().count(), 62);
    }
}
