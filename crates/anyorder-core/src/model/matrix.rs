//! Outcomes of a sweep: tests by orders.

use std::fmt;

use super::order::OrderLabel;
use super::outcome::Outcome;
use super::suite::{Suite, TestIx};

/// A test's outcomes over the orders of a sweep, kept whole. `Display` is one letter an order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutcomeVector(pub Vec<Outcome>);

impl OutcomeVector {
    /// Reads the letters of a vector; `None` at a letter that stands for nothing.
    pub fn from_letters(letters: &str) -> Option<Self> {
        letters.chars().map(Outcome::from_letter).collect::<Option<Vec<_>>>().map(Self)
    }
}

impl fmt::Display for OutcomeVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|o| fmt::Write::write_char(f, o.letter()))
    }
}

/// The outcomes of one tree's sweep: a row a test of the suite, a column an order. One byte a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matrix {
    suite: Suite,
    labels: Vec<OrderLabel>,
    /// Column by column, each of the suite's length.
    columns: Vec<Vec<Outcome>>,
}

impl Matrix {
    /// A matrix with no order yet.
    pub fn new(suite: Suite) -> Self {
        Self { suite, labels: Vec::new(), columns: Vec::new() }
    }

    /// Adds a column in which nothing is reported yet, and gives its index.
    pub fn add_order(&mut self, label: OrderLabel) -> usize {
        self.labels.push(label);
        self.columns.push(vec![Outcome::Absent; self.suite.len()]);
        self.labels.len() - 1
    }

    /// Writes one cell. A column or test outside the matrix is ignored.
    pub fn set(&mut self, column: usize, test: TestIx, outcome: Outcome) {
        if let Some(cell) = self.columns.get_mut(column).and_then(|c| c.get_mut(test.get())) {
            *cell = outcome;
        }
    }

    /// The suite whose tests are the rows.
    pub fn suite(&self) -> &Suite {
        &self.suite
    }

    /// The orders that are the columns.
    pub fn labels(&self) -> &[OrderLabel] {
        &self.labels
    }

    /// One cell; `Absent` outside the matrix.
    pub fn get(&self, column: usize, test: TestIx) -> Outcome {
        self.columns.get(column).and_then(|c| c.get(test.get())).copied().unwrap_or(Outcome::Absent)
    }

    /// A test's outcomes over all orders.
    pub fn vector(&self, test: TestIx) -> OutcomeVector {
        OutcomeVector((0..self.columns.len()).map(|c| self.get(c, test)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_that_nobody_reported_is_absent() {
        let mut matrix = Matrix::new(Suite::from_raw_ids(["a", "b"]));
        let column = matrix.add_order(OrderLabel::Default);
        matrix.set(column, TestIx(0), Outcome::Passed);
        assert_eq!(matrix.vector(TestIx(0)).to_string(), "P");
        assert_eq!(matrix.vector(TestIx(1)).to_string(), "-");
        assert_eq!(OutcomeVector::from_letters("PF-").unwrap().to_string(), "PF-");
    }
}
