//! A day of the civil calendar.

use std::fmt;
use std::str::FromStr;

/// A day of the proleptic Gregorian calendar, in UTC: years 1 to 9999. `Display` is `2027-01-05`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

/// A text that names no day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseDateError {
    text: String,
}

impl fmt::Display for ParseDateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is no day: write year, month and day, such as 2027-01-05", self.text)
    }
}

impl std::error::Error for ParseDateError {}

impl Date {
    /// The last day that can be written.
    pub const LAST: Self = Self { year: 9999, month: 12, day: 31 };

    /// The day, if there is one.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Self> {
        let date = Self { year, month, day };
        let fits = (1..=9999).contains(&year) && (1..=12).contains(&month) && day >= 1;
        (fits && day <= date.days_in_month()).then_some(date)
    }

    /// Its year.
    pub fn year(self) -> u16 {
        self.year
    }

    /// Its month, from 1.
    pub fn month(self) -> u8 {
        self.month
    }

    /// Its day of the month, from 1.
    pub fn day(self) -> u8 {
        self.day
    }

    /// The day on which a moment falls, in milliseconds since the beginning of 1970; the nearest day that can be
    /// written where it is out of range.
    pub fn of_unix_ms(ms: i64) -> Self {
        Self::of_days(ms.div_euclid(86_400_000))
    }

    /// So many days later, but not after [`Date::LAST`].
    #[must_use]
    pub fn plus_days(self, days: u32) -> Self {
        Self::of_days(self.days() + i64::from(days))
    }

    /// Days since 1970-01-01 (H. Hinnant, *chrono-Compatible Low-Level Date Algorithms*).
    fn days(self) -> i64 {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        let year = i64::from(self.year) - i64::from(month <= 2);
        let era = year.div_euclid(400);
        let year_of_era = year.rem_euclid(400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    fn of_days(days: i64) -> Self {
        let first = Self { year: 1, month: 1, day: 1 };
        let days = days.clamp(first.days(), Self::LAST.days()) + 719_468;
        let era = days.div_euclid(146_097);
        let day_of_era = days.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted + 2) / 5 + 1;
        let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let small = |n: i64| u8::try_from(n).unwrap_or(1);
        Self { year: u16::try_from(year).unwrap_or(1), month: small(month), day: small(day) }
    }

    fn is_leap_year(self) -> bool {
        let by = |n| self.year.is_multiple_of(n);
        by(4) && (!by(100) || by(400))
    }

    fn days_in_month(self) -> u8 {
        match self.month {
            4 | 6 | 9 | 11 => 30,
            2 if self.is_leap_year() => 29,
            2 => 28,
            _ => 31,
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

impl FromStr for Date {
    type Err = ParseDateError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let shape = [4, 2, 2];
            let parts: Vec<&str> = text.split('-').collect();
            let fits = parts.len() == 3
                && parts
                    .iter()
                    .zip(shape)
                    .all(|(p, n)| p.len() == n && p.bytes().all(|b| b.is_ascii_digit()));
            if !fits {
                return None;
            }
            Self::new(parts[0].parse().ok()?, parts[1].parse().ok()?, parts[2].parse().ok()?)
        };
        parse().ok_or_else(|| ParseDateError { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Date {
        text.parse().unwrap()
    }

    #[test]
    fn known_days_are_counted_right() {
        assert_eq!(Date::of_unix_ms(0), date("1970-01-01"));
        assert_eq!(Date::of_unix_ms(-1), date("1969-12-31"));
        assert_eq!(Date::of_unix_ms(1_796_083_200_000 + 86_399_999), date("2026-12-01"));
        assert_eq!(date("2024-02-28").plus_days(1), date("2024-02-29"));
        assert_eq!(date("2100-02-28").plus_days(1), date("2100-03-01"));
        assert_eq!(date("2026-12-01").plus_days(30), date("2026-12-31"));
        assert_eq!(date("2026-12-01").plus_days(u32::MAX), Date::LAST);
        assert_eq!(Date::of_unix_ms(i64::MIN), date("0001-01-01"));
    }

    #[test]
    fn what_is_no_day_is_refused() {
        for text in [
            "",
            "2026-13-01",
            "2026-02-29",
            "26-01-01",
            "2026-1-1",
            "0000-01-01",
            "2026-01-01 ",
            "+026-01-01",
        ] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
        assert!("soon".parse::<Date>().unwrap_err().to_string().contains("such as 2027-01-05"));
    }

    proptest::proptest! {
        #[test]
        fn days_are_numbered_without_gaps(ms in -62_135_596_800_000_i64..253_402_300_800_000) {
            let day = Date::of_unix_ms(ms);
            proptest::prop_assert_eq!(Date::new(day.year(), day.month(), day.day()), Some(day));
            proptest::prop_assert_eq!(day.to_string().parse::<Date>().unwrap(), day);
            proptest::prop_assert_eq!(Date::of_days(day.days()), day);
            let next = day.plus_days(1);
            proptest::prop_assert!(next > day || day == Date::LAST);
            proptest::prop_assert!(day == Date::LAST || next.days() == day.days() + 1);
        }
    }
}
