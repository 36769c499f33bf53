//! A file of test ids: one JSON string a line, so that any id survives, newlines included.

use std::collections::HashMap;

use anyorder_core::model::TestId;

/// A line that is no id.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the order is neither a JSON string nor a plain test id: {why}")]
pub struct OrderFileError {
    /// Counted from 1.
    pub line: usize,
    /// What is wrong.
    pub why: String,
}

/// The text of an order file.
pub fn order_file(ids: impl IntoIterator<Item = TestId>) -> String {
    let mut text = String::new();
    for id in ids {
        text.push_str(&serde_json::Value::from(id.raw()).to_string());
        if id.occurrence() > 1 {
            text.push_str("\t#");
            text.push_str(&id.occurrence().to_string());
        }
        text.push('\n');
    }
    text
}

/// Reads an order file. A line that does not begin with a quote is an id as it stands, so that lists made by hand or
/// by `pytest --collect-only -q` work: an id that such a list repeats means the second test with it. Empty lines are
/// passed over.
pub fn read_order_file(text: &str) -> Result<Vec<TestId>, OrderFileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut plain: HashMap<&str, u32> = HashMap::new();
    let mut ids = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_end_matches('\r');
        if line.trim().is_empty() {
            continue;
        }
        if !line.starts_with('"') {
            let occurrence = plain.entry(line).or_insert(0);
            *occurrence += 1;
            ids.push(TestId::repeated(line, *occurrence));
            continue;
        }
        let wrong = |why: &dyn std::fmt::Display| OrderFileError { line: at + 1, why: why.to_string() };
        // A tab within the string is escaped.
        let (quoted, occurrence) = match line.rsplit_once("\t#") {
            Some((quoted, number)) => (quoted, number.parse::<u32>().map_err(|e| wrong(&e))?),
            None => (line, 1),
        };
        let id: String = serde_json::from_str(quoted).map_err(|e| wrong(&e))?;
        ids.push(TestId::repeated(id, occurrence));
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_id_survives_the_file() {
        let ids = [
            TestId::new("a.py::t[x\ny]"),
            TestId::repeated("a.py::t", 2),
            TestId::new("\"quoted\" #3"),
            TestId::new(" é\u{0}\u{1b}[31m"),
        ];
        assert_eq!(read_order_file(&order_file(ids.clone())).unwrap(), ids);
    }

    #[test]
    fn a_plain_list_is_read_as_it_stands() {
        let ids = read_order_file("a.py::t[b c]\n\nb.py::u\r\n").unwrap();
        assert_eq!(ids, [TestId::new("a.py::t[b c]"), TestId::new("b.py::u")]);
        assert_eq!(read_order_file("\"a").unwrap_err().line, 1);
        let twice = read_order_file("\u{feff}a.py::t\na.py::t\n").unwrap();
        assert_eq!(twice, [TestId::new("a.py::t"), TestId::repeated("a.py::t", 2)]);
    }

    proptest::proptest! {
        #[test]
        fn no_id_is_too_strange_for_the_file(ids in proptest::collection::vec(("(?s).*", 1..4_u32), 0..8)) {
            let ids: Vec<TestId> = ids.into_iter().map(|(id, n)| TestId::repeated(id, n)).collect();
            proptest::prop_assert_eq!(read_order_file(&order_file(ids.clone())).unwrap(), ids);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC*|(\"[^\n]*\n)*") {
            let _ = read_order_file(&text);
        }
    }
}
