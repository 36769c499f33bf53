//! The text of `--orders`.

use std::collections::HashSet;
use std::fmt;

use crate::model::{OrderLabel, ParseOrderError, Seed};

/// The most orders one range of seeds may stand for.
pub const MAX_RANGE: u32 = 10_000;

/// Why a text names no list of orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseOrdersError {
    /// There is nothing, or nothing between two commas.
    Empty,
    /// A part names no order.
    Order(ParseOrderError),
    /// A list of ids, which a name alone does not give.
    List(String),
    /// A range without its two whole numbers.
    Range(String),
    /// A range whose end comes before its start.
    Backwards(String),
    /// A range longer than [`MAX_RANGE`].
    TooLong(String),
}

impl fmt::Display for ParseOrdersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str(
                "a list of orders has an empty place: write orders with commas between them, such as \
                 `default,alone,reverse,seed:1..20`",
            ),
            Self::Order(error) => error.fmt(f),
            Self::List(text) => {
                write!(f, "`{text}` cannot stand in a list of orders: replay the file of ids by itself")
            }
            Self::Range(text) => {
                write!(
                    f,
                    "`{text}` is no range of seeds: write both ends as whole numbers, such as `seed:1..20`"
                )
            }
            Self::Backwards(text) => {
                write!(
                    f,
                    "range `{text}` ends before it starts: write the smaller seed first, such as `seed:1..20`"
                )
            }
            Self::TooLong(text) => {
                write!(f, "range `{text}` stands for more than {MAX_RANGE} orders: write a shorter one")
            }
        }
    }
}

impl std::error::Error for ParseOrdersError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Order(error) => Some(error),
            Self::Empty | Self::List(_) | Self::Range(_) | Self::Backwards(_) | Self::TooLong(_) => None,
        }
    }
}

/// Reads orders with commas between them, such as `default,alone,reverse,seed:1..20,seed:7:reverse`.
///
/// A range holds both its ends, also where it is written `1..=20`; `seed:1..3:reverse` is the reverse of each. An order that stands there twice counts
/// once, where it stands first.
pub fn parse_orders(text: &str) -> Result<Vec<OrderLabel>, ParseOrdersError> {
    let mut labels = Vec::new();
    for part in text.split(',').map(str::trim) {
        match part.strip_prefix("seed:").filter(|rest| rest.contains("..")) {
            _ if part.is_empty() => return Err(ParseOrdersError::Empty),
            Some(rest) => labels.extend(parse_range(part, rest)?),
            None => match part.parse().map_err(ParseOrdersError::Order)? {
                OrderLabel::List(_) => return Err(ParseOrdersError::List(part.to_owned())),
                label => labels.push(label),
            },
        }
    }
    let mut seen = HashSet::new();
    labels.retain(|label| seen.insert(label.clone()));
    Ok(labels)
}

fn parse_range(part: &str, rest: &str) -> Result<impl Iterator<Item = OrderLabel> + use<>, ParseOrdersError> {
    let range = || ParseOrdersError::Range(part.to_owned());
    let (rest, label): (_, fn(Seed) -> OrderLabel) = match rest.strip_suffix(":reverse") {
        Some(rest) => (rest, OrderLabel::SeedReverse),
        None => (rest, OrderLabel::Seed),
    };
    let (first, last) = rest.split_once("..").ok_or_else(range)?;
    let last = last.strip_prefix('=').unwrap_or(last);
    let first: i128 = first.parse().map_err(|_| range())?;
    let last: i128 = last.parse().map_err(|_| range())?;
    if first > last {
        return Err(ParseOrdersError::Backwards(part.to_owned()));
    }
    if last.abs_diff(first) >= u128::from(MAX_RANGE) {
        return Err(ParseOrdersError::TooLong(part.to_owned()));
    }
    Ok((first..=last).map(move |seed| label(Seed(seed))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match parse_orders(text) {
            Ok(labels) => labels.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn ranges_hold_both_ends_and_repeats_are_dropped() {
        assert_eq!(
            read("default,alone,reverse,seed:1..3,seed:7:reverse"),
            "default,alone,reverse,seed:1,seed:2,seed:3,seed:7:reverse"
        );
        assert_eq!(read("seed:2, default ,seed:1..3,default"), "seed:2,default,seed:1,seed:3");
        assert_eq!(read("seed:-1..1"), "seed:-1,seed:0,seed:1");
        assert_eq!(read("seed:4..4:reverse"), "seed:4:reverse");
        assert_eq!(read("seed:1..=2"), "seed:1,seed:2");
    }

    #[test]
    fn what_names_no_orders_is_refused_with_what_to_write() {
        assert!(read("").contains("empty place"));
        assert!(read("default,,reverse").contains("empty place"));
        assert!(read("default,").contains("empty place"));
        assert!(read("list:mine.txt").contains("replay the file"));
        assert!(read("random").contains("`random` names no order"));
        assert!(read("seed:1...3").contains("`seed:1...3` is no range"));
        assert!(read("seed:..3").contains("both ends as whole numbers"));
        assert!(read("seed:1..").contains("both ends as whole numbers"));
        assert!(read("seed:3..1").contains("smaller seed first"));
    }

    #[test]
    fn a_range_too_long_to_be_meant_is_refused() {
        assert_eq!(parse_orders("seed:1..10000").map(|labels| labels.len()), Ok(10_000));
        assert!(read("seed:0..10000").contains("more than 10000 orders"));
        let widest = format!("seed:{}..{}", i128::MIN, i128::MAX);
        assert!(read(&widest).contains("more than 10000 orders"));
    }
}
