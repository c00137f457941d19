//! When periods end.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use time::{Date, Month, OffsetDateTime};

/// How often a customer pays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Interval {
    /// On the same day of each month, or on its last day if it has no such day.
    Month,
    /// After so many seconds: months for demonstrations.
    Seconds(u32),
}

impl Interval {
    /// The time that is `periods` intervals after `start`. Counted from the start, so that no
    /// delay adds up, and a subscription of the 31st comes back to the 31st.
    pub fn after(self, start: SystemTime, periods: u32) -> SystemTime {
        match self {
            Self::Month => months_after(start, periods),
            Self::Seconds(seconds) => start + Duration::from_secs(seconds.into()) * periods,
        }
    }

    /// A day, in which dunning counts: a thirtieth of a month for demonstrations.
    pub fn day(self) -> Duration {
        match self {
            Self::Month => Duration::from_secs(24 * 60 * 60),
            Self::Seconds(seconds) => Duration::from_secs(seconds.into()) / 30,
        }
    }
}

fn months_after(start: SystemTime, months: u32) -> SystemTime {
    let start = OffsetDateTime::from(start);
    let mut month = start.month();
    let mut year = start.year();
    for _month in 0..months {
        month = month.next();
        year += i32::from(month == Month::January);
    }
    let day = start.day().min(month.length(year));
    // Only years after 9999 have no date: then the period never ends.
    let end = Date::from_calendar_date(year, month, day).unwrap_or(Date::MAX);
    start.replace_date(end).into()
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    fn after(start: OffsetDateTime, months: u32) -> OffsetDateTime {
        Interval::Month.after(start.into(), months).into()
    }

    #[test]
    fn months_keep_their_day_where_there_is_one() {
        let start = datetime!(2027-12-31 09:30 UTC);
        assert_eq!(after(start, 0), start);
        assert_eq!(after(start, 1), datetime!(2028-01-31 09:30 UTC));
        assert_eq!(after(start, 2), datetime!(2028-02-29 09:30 UTC));
        assert_eq!(after(start, 3), datetime!(2028-03-31 09:30 UTC));
        assert_eq!(after(start, 120), datetime!(2037-12-31 09:30 UTC));
    }

    #[test]
    fn a_demonstration_has_days_too() {
        assert_eq!(Interval::Seconds(60).day(), Duration::from_secs(2));
    }
}
