//! From entries to text. Entries that did not change keep theirs, comments included.

use std::collections::BTreeMap;
use std::fmt::Write;

use anyorder_core::ledger::{Date, Entry, Ledger, Renewal};
use anyorder_core::model::TestId;
use anyorder_core::verdict::Class;
use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value};

use super::decode::{FROZEN, QUARANTINED, test_of};
use super::{VERSION, orders};

const HEADER: &str = "\
# Tests that are known to depend on order (frozen) or to be flaky (quarantined).
# Written by `anyorder freeze` and `anyorder quarantine`; comments are kept.
";

/// A file without an entry.
pub(super) fn empty() -> DocumentMut {
    let mut document = DocumentMut::new();
    document.insert("version", Item::Value(Value::from(VERSION)));
    if let Some(mut key) = document.key_mut("version") {
        key.leaf_decor_mut().set_prefix(HEADER);
    }
    document
}

/// Makes a document say what a ledger says.
pub(super) fn update(document: &mut DocumentMut, ledger: &Ledger) {
    let mut position = 0;
    for (kind, keys) in [("frozen", FROZEN), ("quarantined", QUARANTINED)] {
        let mut old = match document.remove(kind) {
            Some(Item::ArrayOfTables(tables)) => tables
                .into_iter()
                .filter_map(|table| Some((test_of(&table)?, table)))
                .collect::<BTreeMap<TestId, Table>>(),
            _ => BTreeMap::new(),
        };
        let mut tables = ArrayOfTables::new();
        for entry in ledger.iter().filter(|e| e.word() == kind) {
            let mut table = old.remove(entry.test()).unwrap_or_else(|| {
                let mut table = Table::new();
                table.decor_mut().set_prefix("\n");
                table
            });
            fill(&mut table, entry, keys);
            position += 1;
            table.set_position(Some(position));
            tables.push(table);
        }
        if !tables.is_empty() {
            document.insert(kind, Item::ArrayOfTables(tables));
        }
    }
}

/// Writes the fields of an entry into its table: those that differ, in their order.
fn fill(table: &mut Table, entry: &Entry, keys: &[&str]) {
    let fields = fields(entry);
    table.retain(|key, _| fields.iter().any(|(name, _)| *name == key));
    for (key, mut value) in fields {
        let same = table.get(key).and_then(Item::as_value).is_some_and(|old| says(old) == says(&value));
        if same {
            continue;
        }
        if let Some(old) = table.get(key).and_then(Item::as_value) {
            *value.decor_mut() = old.decor().clone();
        }
        match table.get_mut(key) {
            Some(item) => *item = Item::Value(value),
            None => {
                table.insert(key, Item::Value(value));
            }
        }
    }
    let rank = |key: &str| keys.iter().position(|k| *k == key);
    table.sort_values_by(|a, _, b, _| rank(a.get()).cmp(&rank(b.get())));
}

/// A value without the space and comments around it, and however it is quoted.
fn says(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text.value()),
        Value::Array(array) => array.iter().map(says).collect::<Vec<_>>().join(","),
        Value::InlineTable(table) => {
            let fields: Vec<String> =
                table.iter().map(|(key, item)| format!("{key}={}", says(item))).collect();
            fields.join(",")
        }
        other => {
            let mut plain = other.clone();
            plain.decor_mut().clear();
            plain.to_string()
        }
    }
}

fn fields(entry: &Entry) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("test", text(entry.test().raw()))];
    if entry.test().occurrence() > 1 {
        fields.push(("occurrence", Value::from(i64::from(entry.test().occurrence()))));
    }
    let signatures = || list(entry.signatures().iter().map(|s| text(&s.0)));
    match entry {
        Entry::Frozen(entry) => {
            let words = orders::words(entry.recorded.orders());
            fields.push(("class", text(Class::OrderSensitive.word())));
            fields.push(("orders", list(words.iter().map(|word| text(word)))));
            fields.push(("vector", text(&entry.recorded.vector().to_string())));
            fields.push(("seeds", number(entry.recorded.seeds())));
            if !entry.polluters.is_empty() {
                fields.push(("polluters", list(entry.polluters.iter().map(id))));
            }
            fields.push(("signatures", signatures()));
            fields.push(("frozen_at", date(entry.frozen_at)));
            fields.push(("freeze_until", date(entry.freeze_until)));
            fields.push(("issue", text(&entry.issue)));
            fields.extend(entry.renewed.as_ref().map(|renewed| ("renewed", renewal(renewed))));
        }
        Entry::Quarantined(entry) => {
            fields.push(("class", text(Class::Flaky.word())));
            fields.extend(entry.source.map(|source| ("source", text(&format!("{source:016x}")))));
            fields.push(("order", text(&entry.chance.order().to_string())));
            fields.push(("outcomes", text(&entry.chance.outcomes().to_string())));
            fields.push(("signatures", signatures()));
            fields.push(("quarantined_at", date(entry.quarantined_at)));
            fields.extend(entry.until.map(|until| ("until", date(until))));
            fields.push(("issue", text(&entry.issue)));
        }
    }
    fields
}

fn renewal(renewed: &Renewal) -> Value {
    let mut table = InlineTable::new();
    table.insert("since", date(renewed.since));
    table.insert("change", text(renewed.compared.change.word()));
    table.insert("orders", number(renewed.compared.orders));
    table.insert("before", number(renewed.compared.before));
    table.insert("now", number(renewed.compared.now));
    Value::InlineTable(table)
}

fn id(id: &TestId) -> Value {
    if id.occurrence() == 1 {
        return text(id.raw());
    }
    let mut table = InlineTable::new();
    table.insert("test", text(id.raw()));
    table.insert("occurrence", Value::from(i64::from(id.occurrence())));
    Value::InlineTable(table)
}

fn list(items: impl Iterator<Item = Value>) -> Value {
    Value::Array(items.collect::<Array>())
}

fn number(number: usize) -> Value {
    Value::from(i64::try_from(number).unwrap_or(i64::MAX))
}

fn date(day: Date) -> Value {
    Value::from(toml_edit::Date { year: day.year(), month: day.month(), day: day.day() })
}

/// A text in one line, whatever is in it; the writer of `toml_edit` would spread one with line breaks over several.
fn text(raw: &str) -> Value {
    quoted(raw).parse().unwrap_or_else(|_| Value::from(raw))
}

fn quoted(raw: &str) -> String {
    let mut quoted = String::with_capacity(raw.len() + 2);
    quoted.push('"');
    for c in raw.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if hidden(c) => {
                let code = u32::from(c);
                // Writing to a text cannot fail.
                _ = if code <= 0xffff {
                    write!(quoted, "\\u{code:04X}")
                } else {
                    write!(quoted, "\\U{code:08X}")
                };
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// What a reviewer would not see, or would see out of its place.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}
