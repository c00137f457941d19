//! Durations as people write them.

use std::fmt;

/// Milliseconds as days, hours, minutes, seconds and milliseconds, without those that are zero.
pub(crate) struct Written(pub(crate) u64);

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u64, &str); 5] =
            [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s"), (1, "ms")];
        if self.0 == 0 {
            return f.pad("0s");
        }
        let mut left = self.0;
        let mut text = String::new();
        for (length, unit) in UNITS {
            if left >= length {
                text += &format!("{}{unit}", left / length);
                left %= length;
            }
        }
        f.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_parts_are_left_out() {
        let texts = [0, 1, 1500, 60_000, 259_200_000, 90_061_001].map(|ms| Written(ms).to_string());
        assert_eq!(texts, ["0s", "1ms", "1s500ms", "1m", "3d", "1d1h1m1s1ms"]);
    }
}
