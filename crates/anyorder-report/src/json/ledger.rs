//! `anyorder/ledger/1`.

use anyorder_core::ledger::{Entry as CoreEntry, Standing};
use anyorder_core::verdict::Class;
use serde::Serialize;

use super::parts::{Id, Label, Project};
use crate::view::{EntryView, LedgerView, ListedView};

#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: &'static str,
    exit_code: u8,
    command: &'static str,
    project: Project<'a>,
    file: &'a str,
    today: String,
    measured: Option<Measured<'a>>,
    entries: Vec<Entry<'a>>,
    refused: Vec<Refused<'a>>,
    passed_over: usize,
}

#[derive(Serialize)]
struct Measured<'a> {
    sweep: &'a str,
    orders: usize,
    stored: bool,
}

#[derive(Serialize)]
struct Entry<'a> {
    id: Id<'a>,
    kind: &'static str,
    class: &'static str,
    standing: &'static str,
    expired_since: Option<String>,
    lapsed_because: Option<&'static str>,
    orders: Vec<Label<'a>>,
    vector: String,
    independent_seeds: Option<usize>,
    polluters: Vec<Id<'a>>,
    signatures: Vec<&'a str>,
    source: Option<String>,
    measured_at: String,
    until: Option<String>,
    issue: &'a str,
    renewed: Option<Renewed>,
    done: Option<&'static str>,
    notes: &'a [String],
    next: &'a [String],
}

#[derive(Serialize)]
struct Renewed {
    since: String,
    change: &'static str,
    orders: usize,
    before: usize,
    now: usize,
}

#[derive(Serialize)]
struct Refused<'a> {
    id: Id<'a>,
    why: &'a str,
    advice: &'a str,
}

/// What the ledger says of a test in the document of another command.
#[derive(Serialize)]
pub(super) struct Listed<'a> {
    kind: &'static str,
    covered: bool,
    until: Option<String>,
    issue: &'a str,
    text: &'a str,
}

impl<'a> Listed<'a> {
    pub(super) fn of(view: &'a ListedView) -> Self {
        Self {
            kind: view.kind,
            covered: view.covered,
            until: view.until.map(|d| d.to_string()),
            issue: &view.issue,
            text: &view.text,
        }
    }
}

impl<'a> Document<'a> {
    pub(super) fn of(view: &'a LedgerView) -> Self {
        Self {
            schema: "anyorder/ledger/1",
            exit_code: view.exit_code,
            command: view.command.word(),
            project: Project::of(&view.project),
            file: &view.file,
            today: view.today.to_string(),
            measured: view.measured.as_ref().map(|m| Measured {
                sweep: &m.sweep,
                orders: m.orders,
                stored: m.stored,
            }),
            entries: view.entries.iter().map(entry).collect(),
            refused: view
                .refused
                .iter()
                .map(|r| Refused { id: Id(&r.test), why: &r.why, advice: &r.advice })
                .collect(),
            passed_over: view.passed_over,
        }
    }
}

fn entry(view: &EntryView) -> Entry<'_> {
    let (class, orders, vector) = match &view.entry {
        CoreEntry::Frozen(f) => (Class::OrderSensitive, f.recorded.orders(), f.recorded.vector()),
        CoreEntry::Quarantined(q) => {
            (Class::Flaky, std::slice::from_ref(q.chance.order()), q.chance.outcomes())
        }
    };
    let (frozen, source) = match &view.entry {
        CoreEntry::Frozen(frozen) => (Some(frozen), None),
        CoreEntry::Quarantined(quarantined) => (None, quarantined.source),
    };
    Entry {
        id: Id(view.entry.test()),
        kind: view.entry.word(),
        class: class.word(),
        standing: view.standing.word(),
        expired_since: match view.standing {
            Standing::Expired { since } => Some(since.to_string()),
            _ => None,
        },
        lapsed_because: match view.standing {
            Standing::Lapsed { why } => Some(why.word()),
            _ => None,
        },
        orders: orders.iter().map(Label).collect(),
        vector: vector.to_string(),
        independent_seeds: frozen.map(|f| f.recorded.seeds()),
        polluters: frozen.map_or_else(Vec::new, |f| f.polluters.iter().map(Id).collect()),
        signatures: view.entry.signatures().iter().map(|s| &*s.0).collect(),
        source: source.map(|s| format!("{s:016x}")),
        measured_at: view.entry.measured_at().to_string(),
        until: view.entry.until().map(|d| d.to_string()),
        issue: view.entry.issue(),
        renewed: frozen.and_then(|f| f.renewed.as_ref()).map(|r| Renewed {
            since: r.since.to_string(),
            change: r.compared.change.word(),
            orders: r.compared.orders,
            before: r.compared.before,
            now: r.compared.now,
        }),
        done: view.done.map(crate::view::Done::word),
        notes: &view.notes,
        next: &view.next,
    }
}
