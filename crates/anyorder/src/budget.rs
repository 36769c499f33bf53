//! What a verdict may cost beyond the sweeps.

use std::str::FromStr;
use std::time::{Duration, Instant};

/// An amount as it is asked for: `300`, `300s`, `5m`, `1h`, or `20x` for so many times the default order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// Wall time.
    Time(Duration),
    /// Multiples of the default order's own time.
    Suites(f64),
}

impl FromStr for Amount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("`{text}` is no budget: write `300s`, `5m`, `1h`, or `20x` for 20 times the suite");
        let (number, unit) = match text.find(|c: char| !c.is_ascii_digit() && c != '.') {
            Some(at) => text.split_at(at),
            None => (text, "s"),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let seconds = match unit {
            "x" => return Ok(Self::Suites(number)),
            "s" => number,
            "m" => number * 60.0,
            "h" => number * 3600.0,
            _ => return Err(wrong()),
        };
        Duration::try_from_secs_f64(seconds).map(Self::Time).map_err(|_| wrong())
    }
}

/// What is left of an amount.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    until: Option<Instant>,
}

impl Budget {
    /// A budget that begins to run now; `suite` is what the default order took.
    pub fn begin(amount: Option<Amount>, suite: Option<Duration>) -> Self {
        let time = amount.and_then(|amount| match amount {
            Amount::Time(time) => Some(time),
            Amount::Suites(times) => {
                suite.and_then(|s| Duration::try_from_secs_f64(s.as_secs_f64() * times).ok())
            }
        });
        Self { until: time.and_then(|time| Instant::now().checked_add(time)) }
    }

    /// Whether nothing is left.
    pub fn is_spent(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_times_or_multiples_of_the_suite() {
        assert_eq!("90".parse(), Ok(Amount::Time(Duration::from_secs(90))));
        assert_eq!("1.5m".parse(), Ok(Amount::Time(Duration::from_secs(90))));
        assert_eq!("20x".parse(), Ok(Amount::Suites(20.0)));
        for wrong in ["", "x", "5 m", "-3s", "5d", "1e9", "99999999999999999999h"] {
            assert!(wrong.parse::<Amount>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_budget_of_nothing_is_spent_and_none_never_is() {
        assert!(Budget::begin(Some(Amount::Time(Duration::ZERO)), None).is_spent());
        assert!(!Budget::begin(None, None).is_spent());
        assert!(Budget::begin(Some(Amount::Suites(0.0)), Some(Duration::from_secs(1))).is_spent());
    }
}
