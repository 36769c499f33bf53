//! A finding of a stored check.

use anyorder_core::model::{OutcomeVector, Tree};
use anyorder_core::verdict::{Action, Class, Finding};
use serde::Deserialize;

use super::{id, label};
use crate::view::{self, FindingView};

#[derive(Deserialize)]
pub(super) struct Found {
    id: String,
    #[serde(rename = "finding")]
    what: String,
    action: String,
    base: Option<Side>,
    patched: Option<Side>,
    witness: Witness,
    pub(super) cause: u32,
    failure: Option<usize>,
    notes: Vec<String>,
    ledger: Option<Listed>,
}

#[derive(Deserialize)]
struct Side {
    class: String,
    vector: String,
}

#[derive(Deserialize)]
struct Witness {
    seen: Vec<Seen>,
    #[serde(default)]
    minimal_order: Vec<String>,
}

#[derive(Deserialize)]
struct Seen {
    order: String,
    tree: Option<String>,
    outcomes: String,
    fresh: u32,
    common_only: bool,
    run: Option<String>,
    #[serde(default)]
    tests: Vec<String>,
}

#[derive(Deserialize)]
struct Listed {
    kind: String,
    covered: bool,
    until: Option<String>,
    issue: String,
    text: String,
}

impl Found {
    pub(super) fn view(self, next: Option<Vec<String>>) -> Option<FindingView> {
        let listed = match self.ledger {
            None => None,
            Some(listed) => Some(view::ListedView {
                kind: ["frozen", "quarantined"].into_iter().find(|k| *k == listed.kind)?,
                covered: listed.covered,
                until: listed.until.as_deref().and_then(|d| d.parse().ok()),
                issue: listed.issue,
                text: listed.text,
            }),
        };
        let side = |side: Option<Side>| match side {
            None => Some(None),
            Some(side) => side.view().map(Some),
        };
        Some(FindingView {
            id: id(&self.id),
            finding: Finding::from_word(&self.what)?,
            action: Action::from_word(&self.action)?,
            base: side(self.base)?,
            patched: side(self.patched)?,
            witness: view::Witness {
                seen: self.witness.seen.into_iter().map(Seen::view).collect::<Option<_>>()?,
                minimal_order: self.witness.minimal_order.iter().map(|t| id(t)).collect(),
            },
            cause: self.cause,
            failure: self.failure,
            notes: self.notes,
            listed,
            next,
        })
    }
}

impl Side {
    fn view(&self) -> Option<view::SideView> {
        let classes =
            [Class::StablePass, Class::StableFail, Class::StableSkip, Class::OrderSensitive, Class::Flaky];
        Some(view::SideView {
            class: classes.into_iter().find(|c| c.word() == self.class)?,
            vector: OutcomeVector::from_letters(&self.vector)?,
        })
    }
}

impl Seen {
    fn view(self) -> Option<view::Seen> {
        Some(view::Seen {
            order: label(&self.order)?,
            tree: match self.tree.as_deref() {
                Some("base") => Some(Tree::Base),
                Some("patched") => Some(Tree::Patched(None)),
                Some(_) => return None,
                None => None,
            },
            outcomes: OutcomeVector::from_letters(&self.outcomes)?,
            fresh: self.fresh,
            common_only: self.common_only,
            run: self.run,
            tests: self.tests.iter().map(|t| id(t)).collect(),
            flags: Vec::new(),
        })
    }
}
