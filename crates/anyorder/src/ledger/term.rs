//! Days and times as they are typed.

use anyorder_core::ledger::Date;

use crate::hint::Failed;

/// The last day that `--until` or `--for` asks for, if either was given.
pub fn until(until: Option<&str>, term: Option<&str>, today: Date) -> Result<Option<Date>, Failed> {
    match (until, term) {
        (Some(text), _) => {
            let date: Date = text.parse().map_err(|e| Failed::usage(format!("`--until`: {e}")))?;
            if date < today {
                return Err(Failed::usage(format!("`--until {date}` is over: today is {today}")));
            }
            Ok(Some(date))
        }
        (None, Some(text)) => {
            let days = days(text).ok_or_else(|| {
                Failed::usage(format!(
                    "`--for {text}` is no time: write days or weeks, such as `30d` or `4w`"
                ))
            })?;
            Ok(Some(today.plus_days(days)))
        }
        (None, None) => Ok(None),
    }
}

/// `30d` or `4w` in days, at least one.
fn days(text: &str) -> Option<u32> {
    let (number, scale) = match text.strip_suffix('w') {
        Some(number) => (number, 7),
        None => (text.strip_suffix('d')?, 1),
    };
    let whole = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    let days = number.parse::<u32>().ok().filter(|_| whole)?.checked_mul(scale)?;
    (1..=36_525).contains(&days).then_some(days)
}

/// A text that was typed and must say something.
pub fn issue(text: &str) -> Result<String, Failed> {
    match text.trim() {
        "" => Err(Failed::usage("`--issue` is empty: say where somebody works on it")),
        text => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_days_or_weeks() {
        let today: Date = "2026-12-01".parse().unwrap();
        let until = |text| until(None, Some(text), today).map(|d| d.unwrap().to_string());
        assert_eq!(until("30d").unwrap(), "2026-12-31");
        assert_eq!(until("4w").unwrap(), "2026-12-29");
        for text in ["", "d", "30", "0d", "-3d", "+3d", "3 d", "1y", "99999d", "99999999999w"] {
            assert!(until(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_day_that_is_over_is_refused_and_today_is_not() {
        let today: Date = "2026-12-01".parse().unwrap();
        assert_eq!(until(Some("2026-12-01"), None, today).unwrap(), Some(today));
        let over = until(Some("2026-11-30"), None, today).unwrap_err().to_string();
        assert!(over.contains("is over: today is 2026-12-01"), "{over}");
        assert!(until(Some("tomorrow"), None, today).is_err());
    }
}
