//! Lists of orders, with seeds in a row written as one: `seed:2..20`.

use anyorder_core::model::{OrderLabel, Seed};

/// Seeds in a row that are worth being written as one.
const ROW: usize = 3;

/// The words for a list of orders.
pub(super) fn words(orders: &[OrderLabel]) -> Vec<String> {
    let mut words = Vec::new();
    let mut at = 0;
    while let Some(order) = orders.get(at) {
        let row = row(&orders[at..]);
        match (order, &orders[at + row - 1]) {
            (OrderLabel::Seed(first), OrderLabel::Seed(last)) if row >= ROW => {
                words.push(format!("seed:{first}..{last}"));
                at += row;
            }
            _ => {
                words.push(order.to_string());
                at += 1;
            }
        }
    }
    words
}

/// How many orders at the beginning are seeds that follow each other; at least 1.
fn row(orders: &[OrderLabel]) -> usize {
    let follows = |pair: &[OrderLabel]| matches!(pair, [OrderLabel::Seed(Seed(a)), OrderLabel::Seed(Seed(b))] if a.checked_add(1) == Some(*b));
    1 + orders.windows(2).take_while(|pair| follows(pair)).count()
}

/// The orders that words stand for, `most` of them and one more at the most: a file must not make us fill the memory.
pub(super) fn read<'a>(
    words: impl IntoIterator<Item = &'a str>,
    most: usize,
) -> Result<Vec<OrderLabel>, String> {
    let mut orders = Vec::new();
    for word in words {
        let range = word.strip_prefix("seed:").and_then(|rest| rest.split_once(".."));
        let Some((first, last)) = range else {
            orders.push(word.parse::<OrderLabel>().map_err(|e| e.to_string())?);
            continue;
        };
        let (Ok(first), Ok(last)) = (first.parse::<i128>(), last.parse::<i128>()) else {
            return Err(format!("`{word}` names no seeds: write `seed:2..20`"));
        };
        if first > last {
            return Err(format!("`{word}` runs backwards"));
        }
        let room = (most + 1).saturating_sub(orders.len());
        orders.extend((first..=last).take(room).map(|n| OrderLabel::Seed(Seed(n))));
    }
    Ok(orders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_in_a_row_are_written_as_one() {
        let orders =
            read(["default", "alone", "seed:1", "seed:1:reverse", "seed:2..5", "seed:7", "seed:8"], 99)
                .unwrap();
        assert_eq!(orders.len(), 10);
        let written = words(&orders);
        assert_eq!(
            written,
            ["default", "alone", "seed:1", "seed:1:reverse", "seed:2..5", "seed:7", "seed:8"]
        );
        assert_eq!(words(&[OrderLabel::List("seed:2..9".into())]), ["list:seed:2..9"]);
    }

    #[test]
    fn a_list_that_is_longer_than_its_vector_is_cut_before_it_fills_the_memory() {
        assert_eq!(read(["seed:1..99999999999999"], 3).unwrap().len(), 4);
        assert!(read(["seed:5..2"], 3).is_err());
        assert!(read(["seed:a..b"], 3).is_err());
        assert!(read(["sometimes"], 3).is_err());
    }

    proptest::proptest! {
        #[test]
        fn what_was_written_is_read(numbers in proptest::collection::vec(-3..6_i128, 0..12), lists in "[a-z.:\n]{0,8}") {
            let mut orders: Vec<OrderLabel> = numbers.iter().map(|n| OrderLabel::Seed(Seed(*n))).collect();
            orders.push(OrderLabel::List(lists));
            orders.push(OrderLabel::Seed(Seed(i128::MAX)));
            let written = words(&orders);
            proptest::prop_assert_eq!(read(written.iter().map(String::as_str), orders.len()).unwrap(), orders);
        }
    }
}
