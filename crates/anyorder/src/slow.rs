//! Tests that ran into their limit in the first order, told before the plan runs into them again and again.

use std::time::Duration;

use anyorder_core::model::{OrderLabel, Outcome};
use anyorder_report::{command, escape, telling};

use crate::book::Book;
use crate::progress::Progress;

/// Says which tests of the default order were ended at their limit, what each of the `rest` runs to come may cost because
/// of it, and what to do.
pub fn tell(book: &Book, rest: usize, limit: Duration, progress: &Progress) {
    let suite = book.matrix().suite();
    let Some(at) = book.columns().iter().position(|c| c.label == OrderLabel::Default) else { return };
    let hung = |ix: &_| book.matrix().get(at, *ix) == Outcome::Timeout;
    let Some(test) = suite.indices().find(hung) else { return };
    let id = suite.id(test).to_string();
    let limit = limit.as_secs();
    progress.note(&format!(
        "`{id}` was ended at its limit of {limit} s in the default order; each order to come may wait as long for it"
    ));
    let stack =
        book.failed_at(test).into_iter().find(|f| f.order == at).map(|f| &book.failures()[f.failure].text);
    for line in stack.into_iter().flat_map(|text| telling::lines(text, STACK)) {
        progress.lasting(&format!("  {}", escape::text(line)));
    }
    if rest > 0 {
        progress.lasting(&format!(
            "  a lower limit: --test-timeout SECONDS; without the test: -- --deselect {}",
            command::quote(&id)
        ));
    }
}

/// How many lines of a stack are shown.
const STACK: usize = 12;
