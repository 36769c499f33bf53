//! From text to entries, with the line of whatever is wrong.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use anyorder_core::ledger::{
    Chance, Change, Comparison, Date, Entry, Frozen, Ledger, Quarantined, Recorded, Renewal,
};
use anyorder_core::model::{OrderLabel, OutcomeVector, Signature, TestId};
use anyorder_core::verdict::Class;
use toml_edit::{Document, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{VERSION, orders};

/// Why a text is no ledger.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    At { line: usize, why: String },
    Conflict { line: usize },
    Newer(i64),
}

pub(super) const FROZEN: &[&str] = &[
    "test",
    "occurrence",
    "class",
    "orders",
    "vector",
    "seeds",
    "polluters",
    "signatures",
    "frozen_at",
    "freeze_until",
    "issue",
    "renewed",
];
pub(super) const QUARANTINED: &[&str] = &[
    "test",
    "occurrence",
    "class",
    "source",
    "order",
    "outcomes",
    "signatures",
    "quarantined_at",
    "until",
    "issue",
];
const RENEWED: &[&str] = &["since", "change", "orders", "before", "now"];

/// Reads a whole file.
pub(super) fn document(text: &str) -> Result<(DocumentMut, Ledger), Wrong> {
    let lines = Lines::of_text(text);
    let parsed = Document::parse(text).map_err(|error| match conflict(text) {
        Some(line) => Wrong::Conflict { line },
        None => Wrong::At { line: lines.of(error.span()), why: error.message().to_owned() },
    })?;
    let top = parsed.as_table();
    known(top, &["version", "frozen", "quarantined"], "", &lines)?;
    match top.get("version").map(|item| (item.as_integer(), item.span())) {
        Some((Some(VERSION), _)) => {}
        Some((Some(found), _)) if found > VERSION => return Err(Wrong::Newer(found)),
        Some((_, span)) => return Err(lines.wrong(span, "`version` must be 1")),
        None => return Err(lines.wrong(Some(0..0), "`version = 1` is missing")),
    }
    let mut ledger = Ledger::default();
    let mut first_lines: BTreeMap<TestId, usize> = BTreeMap::new();
    for kind in ["frozen", "quarantined"] {
        let tables = match top.get(kind) {
            None => continue,
            Some(Item::ArrayOfTables(tables)) => tables,
            Some(other) => {
                return Err(lines.wrong(other.span(), &format!("write each entry as `[[{kind}]]`")));
            }
        };
        for table in tables {
            let fields = Fields { table, lines: &lines, line: lines.of(table.span()) };
            let entry = if kind == "frozen" {
                Entry::Frozen(frozen(&fields)?)
            } else {
                Entry::Quarantined(quarantined(&fields)?)
            };
            if let Some(first) = first_lines.insert(entry.test().clone(), fields.line) {
                let why = format!(
                    "`{}` has two entries, this one and that in line {first}: keep one of them",
                    shown(entry.test())
                );
                return Err(Wrong::At { line: fields.line, why });
            }
            ledger.put(entry);
        }
    }
    Ok((parsed.into_mut(), ledger))
}

/// The test that a table is about, where it says so.
pub(super) fn test_of(table: &Table) -> Option<TestId> {
    let id = table.get("test")?.as_str()?;
    let occurrence = table.get("occurrence").and_then(Item::as_integer).unwrap_or(1);
    Some(TestId::repeated(id, u32::try_from(occurrence).ok()?))
}

/// The first line that only git writes.
fn conflict(text: &str) -> Option<usize> {
    let marks = ["<<<<<<<", "=======", ">>>>>>>", "|||||||"];
    let mark = |line: &str| marks.iter().any(|m| line == *m || line.starts_with(&format!("{m} ")));
    text.lines().position(mark).map(|at| at + 1)
}

fn frozen(fields: &Fields<'_>) -> Result<Frozen, Wrong> {
    known(fields.table, FROZEN, "frozen.", fields.lines)?;
    let test = fields.test()?;
    fields.class(Class::OrderSensitive, "frozen")?;
    let vector = fields.vector("vector")?;
    let words = fields.strings("orders")?;
    let orders =
        orders::read(words.iter().copied(), vector.0.len()).map_err(|why| fields.wrong("orders", &why))?;
    let recorded = Recorded::new(orders, vector).map_err(|e| fields.wrong("vector", &e.to_string()))?;
    if fields.count("seeds")? != recorded.seeds() {
        let why = format!("`seeds` must be {}, as many as `orders` has", recorded.seeds());
        return Err(fields.wrong("seeds", &why));
    }
    let polluters = match fields.table.get("polluters") {
        None => Vec::new(),
        Some(_) => fields.ids("polluters")?,
    };
    let in_one_line = "`renewed` must be a table in one line: `{ since = 2027-01-05, … }`";
    let renewed = fields
        .table
        .get("renewed")
        .map(|item| {
            let table = item.as_inline_table().ok_or_else(|| fields.wrong("renewed", in_one_line))?;
            renewal(fields, table)
        })
        .transpose()?;
    Ok(Frozen {
        test,
        recorded,
        polluters,
        signatures: fields.signatures()?,
        frozen_at: fields.date("frozen_at")?,
        freeze_until: fields.date("freeze_until")?,
        issue: fields.issue()?,
        renewed,
    })
}

fn renewal(fields: &Fields<'_>, table: &InlineTable) -> Result<Renewal, Wrong> {
    let inner = Fields { table, lines: fields.lines, line: fields.line_of("renewed") };
    known(table, RENEWED, "renewed.", fields.lines)?;
    let word = inner.string("change")?;
    let change = Change::from_word(word).ok_or_else(|| {
        let words: Vec<&str> = Change::ALL.into_iter().map(Change::word).collect();
        inner.wrong("change", &format!("`change` must be one of {}", words.join(", ")))
    })?;
    Ok(Renewal {
        since: inner.date("since")?,
        compared: Comparison {
            change,
            orders: inner.count("orders")?,
            before: inner.count("before")?,
            now: inner.count("now")?,
        },
    })
}

fn quarantined(fields: &Fields<'_>) -> Result<Quarantined, Wrong> {
    known(fields.table, QUARANTINED, "quarantined.", fields.lines)?;
    let test = fields.test()?;
    fields.class(Class::Flaky, "quarantined")?;
    let has = |key| fields.table.get(key).is_some();
    let source = if has("source") { Some(fields.fingerprint("source")?) } else { None };
    let order: OrderLabel =
        fields.string("order")?.parse().map_err(|e| fields.wrong("order", &format!("{e}")))?;
    let chance = Chance::new(order, fields.vector("outcomes")?)
        .map_err(|e| fields.wrong("outcomes", &e.to_string()))?;
    let until = if has("until") { Some(fields.date("until")?) } else { None };
    if source.is_none() && until.is_none() {
        return Err(fields.wrong("source", "an entry without `source` needs `until`"));
    }
    Ok(Quarantined {
        test,
        source,
        chance,
        signatures: fields.signatures()?,
        quarantined_at: fields.date("quarantined_at")?,
        until,
        issue: fields.issue()?,
    })
}

/// Refuses keys that nobody knows: a misspelt `freeze_until` must not go unnoticed.
fn known(table: &dyn TableLike, keys: &[&str], prefix: &str, lines: &Lines) -> Result<(), Wrong> {
    match table.iter().find(|(key, _)| !keys.contains(key)) {
        None => Ok(()),
        Some((key, item)) => {
            let span = table.key(key).and_then(toml_edit::Key::span).or_else(|| item.span());
            let why = format!("unknown key `{prefix}{}`; known are {}", short(key), keys.join(", "));
            Err(lines.wrong(span, &why))
        }
    }
}

/// Where lines end.
struct Lines(Vec<usize>);

impl Lines {
    fn of_text(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The line in which a span begins, counted from 1.
    fn of(&self, span: Option<Range<usize>>) -> usize {
        let at = span.map_or(0, |s| s.start);
        1 + self.0.partition_point(|end| *end < at)
    }

    fn wrong(&self, span: Option<Range<usize>>, why: &str) -> Wrong {
        Wrong::At { line: self.of(span), why: why.to_owned() }
    }
}

/// The fields of one entry.
struct Fields<'a> {
    table: &'a dyn TableLike,
    lines: &'a Lines,
    /// The line in which it begins.
    line: usize,
}

impl<'a> Fields<'a> {
    fn line_of(&self, key: &str) -> usize {
        match self.table.get(key).and_then(Item::span) {
            Some(span) => self.lines.of(Some(span)),
            None => self.line,
        }
    }

    fn wrong(&self, key: &str, why: &str) -> Wrong {
        Wrong::At { line: self.line_of(key), why: why.to_owned() }
    }

    fn get(&self, key: &str) -> Result<&'a Item, Wrong> {
        self.table.get(key).ok_or_else(|| self.wrong(key, &format!("the entry lacks `{key}`")))
    }

    fn string(&self, key: &str) -> Result<&'a str, Wrong> {
        self.get(key)?.as_str().ok_or_else(|| self.wrong(key, &format!("`{key}` must be a text in quotes")))
    }

    fn count(&self, key: &str) -> Result<usize, Wrong> {
        let number = self.get(key)?.as_integer().and_then(|n| usize::try_from(n).ok());
        number.ok_or_else(|| self.wrong(key, &format!("`{key}` must be a number, 0 or more")))
    }

    fn date(&self, key: &str) -> Result<Date, Wrong> {
        let date = self.get(key)?.as_datetime().filter(|d| d.time.is_none() && d.offset.is_none());
        let date = date.and_then(|d| d.date).and_then(|d| Date::new(d.year, d.month, d.day));
        date.ok_or_else(|| {
            self.wrong(key, &format!("`{key}` must be a day without quotes, such as 2027-01-05"))
        })
    }

    fn fingerprint(&self, key: &str) -> Result<u64, Wrong> {
        let digits = self.string(key)?;
        let all = digits.len() == 16 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let number = u64::from_str_radix(digits, 16).ok().filter(|_| all);
        number.ok_or_else(|| self.wrong(key, &format!("`{key}` must be 16 hexadecimal digits")))
    }

    fn array(&self, key: &str) -> Result<Vec<&'a Value>, Wrong> {
        let array = self.get(key)?.as_array();
        let array = array.ok_or_else(|| self.wrong(key, &format!("`{key}` must be a list")))?;
        Ok(array.iter().collect())
    }

    fn strings(&self, key: &str) -> Result<Vec<&'a str>, Wrong> {
        let text = |value: &'a Value| {
            value
                .as_str()
                .ok_or_else(|| self.wrong(key, &format!("`{key}` must be a list of texts in quotes")))
        };
        self.array(key)?.into_iter().map(text).collect()
    }

    fn vector(&self, key: &str) -> Result<OutcomeVector, Wrong> {
        OutcomeVector::from_letters(self.string(key)?)
            .ok_or_else(|| self.wrong(key, &format!("`{key}` has a letter that stands for no outcome")))
    }

    fn test(&self) -> Result<TestId, Wrong> {
        let occurrence = match self.table.get("occurrence") {
            None => 1,
            Some(_) => self.count("occurrence")?,
        };
        self.id(self.string("test")?, occurrence)
    }

    fn id(&self, id: &str, occurrence: usize) -> Result<TestId, Wrong> {
        match u32::try_from(occurrence) {
            Ok(number) if number > 0 => Ok(TestId::repeated(id, number)),
            _ => Err(self.wrong("occurrence", "`occurrence` must be 1 or more")),
        }
    }

    /// Ids: a text, or `{ test = "…", occurrence = 2 }` where an id is repeated.
    fn ids(&self, key: &str) -> Result<Vec<TestId>, Wrong> {
        let wrong = || self.wrong(key, &format!("`{key}` must be a list of test ids"));
        let id = |value: &Value| match value {
            Value::InlineTable(table) => {
                let id = table.get("test").and_then(Value::as_str).ok_or_else(wrong)?;
                let occurrence = table.get("occurrence").and_then(Value::as_integer).ok_or_else(wrong)?;
                self.id(id, usize::try_from(occurrence).map_err(|_| wrong())?)
            }
            other => other.as_str().map(TestId::new).ok_or_else(wrong),
        };
        self.array(key)?.into_iter().map(id).collect()
    }

    fn signatures(&self) -> Result<Vec<Signature>, Wrong> {
        let mut all: Vec<Signature> =
            self.strings("signatures")?.into_iter().map(|s| Signature(Arc::from(s))).collect();
        all.sort();
        all.dedup();
        Ok(all)
    }

    fn class(&self, class: Class, what: &str) -> Result<(), Wrong> {
        if self.string("class")? == class.word() {
            return Ok(());
        }
        Err(self.wrong("class", &format!("only a test of class `{}` can be {what}", class.word())))
    }

    fn issue(&self) -> Result<String, Wrong> {
        let issue = self.string("issue")?;
        if issue.trim().is_empty() {
            return Err(self.wrong("issue", "`issue` must say where somebody works on it"));
        }
        Ok(issue.to_owned())
    }
}

fn shown(id: &TestId) -> String {
    short(&id.to_string())
}

/// A text of the file, cut where it is too long for a message.
fn short(text: &str) -> String {
    match text.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
