//! Orders as a user lists them.

use std::fmt;

use crate::model::{OrderLabel, Seed};

/// Why a list names no orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseOrdersError {
    /// Nothing stands in it.
    Empty,
    /// This entry names no order.
    Entry(String),
    /// This range is backwards or absurdly long.
    Range(String),
}

impl fmt::Display for ParseOrdersError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => {
                f.write_str("the list of orders is empty: write such as `default,alone,reverse,seed:1..20`")
            }
            Self::Entry(entry) => write!(
                f,
                "`{entry}` names no order: write `default`, `reverse`, `alone`, `seed:7`, `seed:7:reverse` or `seed:1..20`"
            ),
            Self::Range(entry) => {
                write!(f, "`{entry}` is no range of seeds: the first comes first, and at most {MOST} fit in")
            }
        }
    }
}

impl std::error::Error for ParseOrdersError {}

const MOST: i128 = 1_000_000;

/// Reads `default,alone,reverse,seed:1..20,seed:7:reverse`. Ranges include both ends; what stands twice counts once.
pub fn parse_orders(text: &str) -> Result<Vec<OrderLabel>, ParseOrdersError> {
    let mut labels: Vec<OrderLabel> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut add = |label: OrderLabel, labels: &mut Vec<OrderLabel>| {
        if seen.insert(label.clone()) {
            labels.push(label);
        }
    };
    for entry in text.split(',').map(str::trim).filter(|e| !e.is_empty()) {
        let range = entry.strip_prefix("seed:").and_then(|rest| rest.split_once(".."));
        if let Some((first, last)) = range {
            let last = last.strip_prefix('=').unwrap_or(last);
            let wrong = || ParseOrdersError::Entry(entry.to_owned());
            let first: i128 = first.parse().map_err(|_| wrong())?;
            let last: i128 = last.parse().map_err(|_| wrong())?;
            if last < first || last.checked_sub(first).is_none_or(|n| n >= MOST) {
                return Err(ParseOrdersError::Range(entry.to_owned()));
            }
            (first..=last).for_each(|seed| add(OrderLabel::Seed(Seed(seed)), &mut labels));
        } else {
            match entry.parse::<OrderLabel>() {
                Ok(OrderLabel::List(_)) | Err(_) => return Err(ParseOrdersError::Entry(entry.to_owned())),
                Ok(label) => add(label, &mut labels),
            }
        }
    }
    if labels.is_empty() { Err(ParseOrdersError::Empty) } else { Ok(labels) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        parse_orders(text).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ranges_include_both_ends_and_nothing_counts_twice() {
        assert_eq!(
            shown("default, alone,seed:2,seed:1..3,seed:3:reverse"),
            ["default", "alone", "seed:2", "seed:1", "seed:3", "seed:3:reverse"]
        );
        assert_eq!(shown("seed:-1..=1"), ["seed:-1", "seed:0", "seed:1"]);
    }

    #[test]
    fn what_names_no_order_is_refused() {
        for text in ["", " , ", "seed", "seed:1..", "seed:3..1", "seed:0..99999999", "list:x", "random"] {
            assert!(parse_orders(text).is_err(), "{text}");
        }
    }
}
