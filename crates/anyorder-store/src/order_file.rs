//! A file of test ids: one JSON string a line, so that any id survives, newlines included.

use std::fmt::Write;

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
            // Writing to a string cannot fail.
            let _ = write!(text, "\t#{}", id.occurrence());
        }
        text.push('\n');
    }
    text
}

/// Reads an order file. A line that does not begin with a quote is an id as it stands, so that lists made by hand or
/// by `pytest --collect-only -q` work; empty lines are passed over.
pub fn read_order_file(text: &str) -> Result<Vec<TestId>, OrderFileError> {
    let mut ids = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_end_matches('\r');
        if line.trim().is_empty() {
            continue;
        }
        if !line.starts_with('"') {
            ids.push(TestId::new(line));
            continue;
        }
        let wrong = |why: &dyn std::fmt::Display| OrderFileError { line: at + 1, why: why.to_string() };
        let (quoted, occurrence) = match line.rsplit_once("\t#") {
            Some((quoted, number)) => (quoted, number.parse::<u32>().map_err(|e| wrong(&e))?),
            _ => (line, 1),
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
    }
}
