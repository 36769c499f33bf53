//! Whether an entry protects, and what it covers.

use std::fmt;

use crate::model::{Signature, TestId, TestIx};
use crate::verdict::{Class, Finding, TreeResult};

use super::date::Date;
use super::entry::{Entry, signatures};

/// What is known of an entry's test today without running it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    /// Nothing: nobody has collected.
    Unknown,
    /// It was collected, with this fingerprint of its source.
    Collected(Option<u64>),
    /// The suite was collected, and it was not there.
    Gone,
}

/// Why a quarantine ended before its day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lapse {
    /// The test was edited, or a fixture that it asks for.
    SourceChanged,
    /// It fails in another way.
    FailureChanged,
}

impl Lapse {
    /// In words.
    pub fn word(self) -> &'static str {
        match self {
            Self::SourceChanged => "source changed",
            Self::FailureChanged => "failure changed",
        }
    }
}

/// How an entry stands on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Standing {
    /// It protects.
    Protects,
    /// Its last day is over.
    Expired {
        /// The first day on which it no longer protected.
        since: Date,
    },
    /// What it was about has changed.
    Lapsed {
        /// What.
        why: Lapse,
    },
    /// There is no such test.
    Gone,
}

impl Standing {
    /// The word for it, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Protects => "protects",
            Self::Expired { .. } => "expired",
            Self::Lapsed { .. } => "lapsed",
            Self::Gone => "gone",
        }
    }

    /// Whether it protects.
    pub fn protects(self) -> bool {
        self == Self::Protects
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Protects => f.write_str("protects"),
            Self::Expired { since } => write!(f, "expired on {since}"),
            Self::Lapsed { why } => write!(f, "lapsed: {}", why.word()),
            Self::Gone => f.write_str("gone: there is no such test"),
        }
    }
}

/// How an entry stands, from the day and the source alone. An entry protects through its last day.
pub fn standing(entry: &Entry, today: Date, now: Now) -> Standing {
    if now == Now::Gone {
        return Standing::Gone;
    }
    if let (Entry::Quarantined(entry), Now::Collected(source)) = (entry, now)
        && entry.source != source
    {
        return Standing::Lapsed { why: Lapse::SourceChanged };
    }
    match entry.until() {
        Some(until) if today > until => Standing::Expired { since: until.plus_days(1) },
        _ => Standing::Protects,
    }
}

/// What a measurement showed of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observed {
    /// Its class.
    pub class: Class,
    /// Whether reruns bore the class out.
    pub settled: bool,
    /// Every way in which it failed; see [`signatures`].
    pub signatures: Vec<Signature>,
    /// Polluters or state-setters that were found, if any were looked for.
    pub polluters: Vec<TestId>,
    /// The fingerprint of its source.
    pub source: Option<u64>,
}

impl Observed {
    /// What one tree's sweep showed; `None` for a test outside it.
    pub fn of(tree: &TreeResult, test: TestIx) -> Option<Self> {
        let class = tree.classes.get(test)?;
        Some(Self {
            class: class.class,
            settled: class.settled,
            signatures: signatures(tree, test),
            polluters: Vec::new(),
            source: tree.sweep.suite().info(test).source,
        })
    }
}

/// Why a finding about a test is not covered by the test's entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Uncovered {
    /// The entry does not protect.
    Standing(Standing),
    /// The test has another class than the entry is about.
    OtherClass(Class),
    /// Its class was not borne out by reruns.
    Unsettled,
    /// It fails in a way that the entry does not know.
    NewFailure(Signature),
    /// Somebody breaks it whom the entry does not know.
    NewPolluter(TestId),
    /// The patch takes the entry out.
    TakenOut,
    /// The patch did something to it that no entry is about.
    OtherFinding(Finding),
}

impl fmt::Display for Uncovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Standing(standing) => write!(f, "{standing}"),
            Self::OtherClass(class) => {
                let class = match class {
                    Class::StablePass => "passes in every order",
                    Class::StableFail => "fails in every order",
                    Class::StableSkip => "is skipped in every order",
                    Class::OrderSensitive => "depends on order",
                    Class::Flaky => "is flaky",
                };
                write!(f, "the test {class} now, which the entry is not about")
            }
            Self::Unsettled => f.write_str("it could not be told whether it is order or chance"),
            Self::NewFailure(signature) => {
                write!(f, "it fails in a way that the entry does not know: {}", signature.0)
            }
            Self::TakenOut => f.write_str("the patch takes the entry out"),
            Self::OtherFinding(finding) => {
                write!(f, "an entry never covers `{}`", finding.word())
            }
            Self::NewPolluter(id) => write!(f, "`{id}` breaks it, which the entry does not know"),
        }
    }
}

/// Whether a finding about a test is covered by its entry: the entry protects, the class is the entry's own, and there is no
/// failure and no polluter that it does not know. Anything new is never hidden.
pub fn excuse(entry: &Entry, today: Date, observed: &Observed) -> Result<(), Uncovered> {
    let standing = standing(entry, today, Now::Collected(observed.source));
    if !standing.protects() {
        return Err(Uncovered::Standing(standing));
    }
    let about = match entry {
        Entry::Frozen(_) => Class::OrderSensitive,
        Entry::Quarantined(_) => Class::Flaky,
    };
    if observed.class != about {
        return Err(Uncovered::OtherClass(observed.class));
    }
    if !observed.settled {
        return Err(Uncovered::Unsettled);
    }
    if let Some(new) = observed.signatures.iter().find(|s| !entry.signatures().contains(s)) {
        return Err(match entry {
            Entry::Frozen(_) => Uncovered::NewFailure(new.clone()),
            Entry::Quarantined(_) => Uncovered::Standing(Standing::Lapsed { why: Lapse::FailureChanged }),
        });
    }
    if let Entry::Frozen(frozen) = entry
        && !frozen.polluters.is_empty()
        && let Some(new) = observed.polluters.iter().find(|p| !frozen.polluters.contains(p))
    {
        return Err(Uncovered::NewPolluter(new.clone()));
    }
    Ok(())
}
