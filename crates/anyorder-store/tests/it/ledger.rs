//! `anyorder.lock.toml`: what is written is read, what is wrong is told, and nothing else is touched.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use anyorder_core::ledger::{
    Chance, Change, Comparison, Date, Entry, Frozen, Ledger, Quarantined, Recorded, Renewal,
};
use anyorder_core::model::{OrderLabel, OutcomeVector, Seed, Signature, TestId};
use anyorder_store::{LEDGER_FILE, LedgerError, LedgerFile};
use fs_err as fs;
use proptest::prelude::*;
use tempfile::TempDir;

use super::samples::hostile_names;

fn date(text: &str) -> Date {
    text.parse().unwrap()
}

fn seed(n: i128) -> OrderLabel {
    OrderLabel::Seed(Seed(n))
}

fn frozen(id: TestId) -> Frozen {
    let orders = vec![
        OrderLabel::Default,
        OrderLabel::Alone,
        seed(1),
        OrderLabel::SeedReverse(Seed(1)),
        seed(2),
        seed(3),
        seed(4),
    ];
    Frozen {
        test: id,
        recorded: Recorded::new(orders, OutcomeVector::from_letters("PPFPFPE").unwrap()).unwrap(),
        polluters: Vec::new(),
        signatures: vec![Signature("AssertionError @ a.py:assert not dirty".into())],
        frozen_at: date("2026-12-01"),
        freeze_until: date("2027-01-05"),
        issue: "SHOP-7".into(),
        renewed: None,
    }
}

fn quarantined(id: TestId) -> Quarantined {
    Quarantined {
        test: id,
        source: Some(0x00ab_cdef_0123_4567),
        chance: Chance::new(seed(3), OutcomeVector::from_letters("FPP").unwrap()).unwrap(),
        signatures: vec![Signature("TimeoutError @ b.py:wait()".into())],
        quarantined_at: date("2026-12-01"),
        until: None,
        issue: "https://example.com/8".into(),
    }
}

fn ledger(entries: impl IntoIterator<Item = Entry>) -> Ledger {
    Ledger::new(entries).unwrap()
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with(text: &str) -> Self {
        let folder = Self::new();
        fs::write(folder.path(), text).unwrap();
        folder
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join(LEDGER_FILE)
    }

    fn open(&self) -> Result<LedgerFile, LedgerError> {
        LedgerFile::read(self.0.path(), self.0.path())
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    /// The message of a file that is refused, without its path.
    #[track_caller]
    fn refusal(&self) -> String {
        let message = self.open().unwrap_err().to_string();
        message.replace(&self.path().display().to_string(), "FILE")
    }
}

const TWO: &str = r#"# Tests that are known to depend on order (frozen) or to be flaky (quarantined).
# Written by `anyorder freeze` and `anyorder quarantine`; comments are kept.
version = 1

[[frozen]]
test = "a.py::test_victim"
class = "order_sensitive"
orders = ["default", "alone", "seed:1", "seed:1:reverse", "seed:2..4"]
vector = "PPFPFPE"
seeds = 4
signatures = ["AssertionError @ a.py:assert not dirty"]
frozen_at = 2026-12-01
freeze_until = 2027-01-05
issue = "SHOP-7"

[[quarantined]]
test = "b.py::test_flaky"
class = "flaky"
source = "00abcdef01234567"
order = "seed:3"
outcomes = "FPP"
signatures = ["TimeoutError @ b.py:wait()"]
quarantined_at = 2026-12-01
issue = "https://example.com/8"
"#;

fn two() -> Ledger {
    ledger([
        Entry::Quarantined(quarantined(TestId::new("b.py::test_flaky"))),
        Entry::Frozen(frozen(TestId::new("a.py::test_victim"))),
    ])
}

#[test]
fn a_new_file_is_made_to_be_read_in_a_review() {
    let folder = Folder::new();
    let mut file = folder.open().unwrap();
    assert!(file.ledger().is_empty());
    file.write(two()).unwrap();
    assert_eq!(folder.text(), TWO);
    assert_eq!(folder.open().unwrap().ledger(), &two());
    assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o600, 0o600);
    assert_eq!(fs::read_dir(folder.0.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn writing_again_changes_no_byte_and_no_mode() {
    let folder = Folder::with(TWO);
    fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o640)).unwrap();
    for _ in 0..2 {
        folder.open().unwrap().write(two()).unwrap();
        assert_eq!(folder.text(), TWO);
    }
    assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn comments_and_the_spelling_of_untouched_entries_are_kept() {
    let commented = TWO
        .replace("version = 1", "version = 1 # the format")
        .replace("\n[[frozen]]", "\n# ask Ann before you touch this one\n[[frozen]]")
        .replace("seeds = 4", "seeds = 4 # too few?")
        .replace("issue = \"SHOP-7\"", "# moved from SHOP-6\nissue = 'SHOP-7'")
        + "\n# the end\n";
    let folder = Folder::with(&commented);
    let mut file = folder.open().unwrap();
    let mut changed = file.ledger().clone();
    let mut entry = frozen(TestId::new("a.py::test_victim"));
    entry.freeze_until = date("2027-02-05");
    entry.renewed = Some(Renewal {
        since: date("2026-12-01"),
        compared: Comparison { change: Change::MoreFailing, orders: 7, before: 2, now: 3 },
    });
    changed.put(Entry::Frozen(entry));
    changed.put(Entry::Frozen(frozen(TestId::new("a.py::test_other"))));
    file.write(changed.clone()).unwrap();
    assert_eq!(folder.open().unwrap().ledger(), &changed);
    let text = folder.text();
    for kept in [
        "version = 1 # the format",
        "# ask Ann before",
        "seeds = 4 # too few?",
        "# moved from SHOP-6\n",
        "# the end\n",
    ] {
        assert!(text.contains(kept), "{kept} is lost:\n{text}");
    }
    assert!(text.contains("issue = 'SHOP-7'\nrenewed = { since = 2026-12-01, change = \"more_failing\", orders = 7, before = 2, now = 3 }\n"), "{text}");
    assert!(text.contains("freeze_until = 2027-02-05\n"), "{text}");
    assert!(text.find("test_other") < text.find("# ask Ann"), "sorted by test:\n{text}");
    let mut less = changed;
    less.remove(&TestId::new("a.py::test_other"));
    less.remove(&TestId::new("b.py::test_flaky"));
    file.write(less).unwrap();
    let text = folder.text();
    assert!(
        text.contains("# ask Ann") && !text.contains("quarantined_at") && text.ends_with("# the end\n"),
        "{text}"
    );
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let wrong = |from: &str, to: &str| {
        assert!(TWO.contains(from), "{from}");
        Folder::with(&TWO.replacen(from, to, 1)).refusal()
    };
    for (from, to, said) in [
        ("freeze_until", "freeze_untill", "FILE, line 13: unknown key `frozen.freeze_untill`; known are"),
        ("freeze_until = 2027-01-05\n", "", "FILE, line 5: the entry lacks `freeze_until`"),
        ("freeze_until = 2027-01-05", "freeze_until = \"soon\"", "line 13: `freeze_until` must be a day"),
        ("freeze_until = 2027-01-05", "freeze_until = 2027-02-30", "line 13: "),
        ("PPFPFPE", "FFFFEFE", "line 9: all outcomes say the same: only an order-sensitive test"),
        ("PPFPFPE", "PPFPFP", "line 9: the vector has 6 outcomes for 7 orders"),
        ("PPFPFPE", "PPFPF?E", "line 9: `vector` has a letter"),
        ("seeds = 4", "seeds = 40", "line 10: `seeds` must be 4"),
        (
            "\"order_sensitive\"",
            "\"stable_fail\"",
            "line 7: only a test of class `order_sensitive` can be frozen",
        ),
        ("\"FPP\"", "\"PPP\"", "line 21: all outcomes say the same: only a test with two outcomes"),
        ("00abcdef01234567", "+0abcdef01234567", "line 19: `source` must be 16 hexadecimal digits"),
        ("source = \"00abcdef01234567\"\n", "", "an entry without `source` needs `until`"),
        ("\"SHOP-7\"", "\" \"", "line 14: `issue` must say"),
        ("version = 1\n", "", "line 1: `version = 1` is missing"),
        ("version = 1", "version = 2", "`FILE` has version 2"),
        ("seed:2..4", "seed:2..99999999999999999999", "the vector has 7 outcomes for 8 orders"),
        ("[[frozen]]", "[frozen]", "write each entry as `[[frozen]]`"),
        ("[[frozen]]", "[[frozen]", "line 5: "),
        ("issue = \"SHOP-7\"", "issue = \"SHOP-7\"\nissue = \"SHOP-8\"", "line 15: "),
    ] {
        let message = wrong(from, to);
        assert!(
            message.contains(said) || message.replace("`FILE`", "FILE").contains(said),
            "{to}: {message}"
        );
    }
}

#[test]
fn two_entries_of_one_test_are_one_clear_error() {
    let block = &TWO[TWO.find("[[frozen]]").unwrap()..TWO.find("[[quarantined]]").unwrap()];
    let twice = Folder::with(&TWO.replace("[[quarantined]]", &format!("{block}[[quarantined]]"))).refusal();
    assert!(
        twice.contains("line 16: `a.py::test_victim` has two entries, this one and that in line 5"),
        "{twice}"
    );
    let both = Folder::with(&TWO.replace("b.py::test_flaky", "a.py::test_victim")).refusal();
    assert!(both.contains("has two entries"), "{both}");
}

#[test]
fn a_merge_conflict_is_one_clear_error() {
    let text = TWO.replace(
        "issue = \"SHOP-7\"\n",
        "<<<<<<< HEAD\nissue = \"SHOP-7\"\n=======\nissue = \"SHOP-8\"\n>>>>>>> other\n",
    );
    let message = Folder::with(&text).refusal();
    assert_eq!(
        message,
        "`FILE`, line 14: a merge conflict is not resolved: keep the entries of both sides, one for each test"
    );
}

#[test]
fn a_file_from_a_windows_checkout_keeps_its_line_ends() {
    let folder = Folder::with(&format!("\u{feff}{}", TWO.replace('\n', "\r\n")));
    let mut file = folder.open().unwrap();
    assert_eq!(file.ledger(), &two());
    file.write(two()).unwrap();
    assert_eq!(folder.text(), TWO.replace('\n', "\r\n"));
}

#[test]
fn what_is_no_text_is_refused_with_its_line() {
    let folder = Folder::new();
    fs::write(folder.path(), b"version = 1\n# \xff\n").unwrap();
    assert_eq!(folder.refusal(), "`FILE`, line 2: this is not UTF-8");
}

#[test]
fn a_link_is_followed_within_the_project_and_never_out_of_it() {
    let folder = Folder::new();
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("theirs.toml");
    fs::write(&target, TWO).unwrap();
    symlink(&target, folder.path()).unwrap();
    assert!(matches!(folder.open(), Err(LedgerError::Outside { .. })));
    assert_eq!(fs::read_to_string(&target).unwrap(), TWO);
    fs::remove_file(folder.path()).unwrap();
    // Nor where it leads to nothing yet.
    symlink(outside.path().join("none.toml"), folder.path()).unwrap();
    assert!(folder.open().is_err());
    fs::remove_file(folder.path()).unwrap();

    fs::write(folder.0.path().join("real.toml"), TWO).unwrap();
    symlink("real.toml", folder.path()).unwrap();
    let mut file = folder.open().unwrap();
    file.write(ledger([])).unwrap();
    assert!(fs::symlink_metadata(folder.path()).unwrap().is_symlink());
    assert!(!fs::read_to_string(folder.0.path().join("real.toml")).unwrap().contains("frozen_at"));
}

#[test]
fn a_folder_in_its_place_is_refused() {
    let folder = Folder::new();
    fs::create_dir(folder.path()).unwrap();
    assert!(matches!(folder.open(), Err(LedgerError::NotAFile { .. })));
}

#[test]
fn hostile_ids_come_back_exactly_and_keep_to_their_line() {
    let mut names = hostile_names();
    names.push("x".repeat(100_000));
    names.push("a\"b\\c\r\n\u{85}\u{2028}\u{202e}'''\"\"\"".to_owned());
    let entries = names.iter().enumerate().map(|(n, name)| {
        let id = TestId::repeated(name.as_str(), if n % 2 == 0 { 1 } else { 2 });
        let mut entry = frozen(id.clone());
        entry.polluters = vec![id.clone(), TestId::new("plain")];
        entry.signatures = vec![Signature(name.as_str().into())];
        if n % 3 == 0 { Entry::Quarantined(quarantined(id)) } else { Entry::Frozen(entry) }
    });
    let ledger = ledger(entries);
    let folder = Folder::new();
    folder.open().unwrap().write(ledger.clone()).unwrap();
    assert_eq!(folder.open().unwrap().ledger(), &ledger);
    let odd = |line: &&str| {
        !(line.is_empty() || line.starts_with('#') || line.starts_with("[[") || line.contains(" = "))
    };
    let text = folder.text();
    assert_eq!(text.split('\n').find(odd), None);
}

fn any_id() -> impl Strategy<Value = TestId> {
    ("(?s).{0,12}", 1..3_u32).prop_map(|(id, n)| TestId::repeated(id, n))
}

fn any_label() -> impl Strategy<Value = OrderLabel> {
    prop_oneof![
        Just(OrderLabel::Default),
        Just(OrderLabel::Reverse),
        Just(OrderLabel::Alone),
        (-3..9_i128).prop_map(seed),
        (0..3_i128).prop_map(|n| OrderLabel::SeedReverse(Seed(n))),
        "(?s).{0,6}".prop_map(OrderLabel::List),
    ]
}

fn any_entry() -> impl Strategy<Value = Entry> {
    let signatures = || {
        proptest::collection::btree_set("(?s).{0,10}", 0..3)
            .prop_map(|all| all.into_iter().map(|s| Signature(Arc::from(s))).collect::<Vec<_>>())
    };
    let day = || (-60_000..60_000_i64).prop_map(|d| Date::of_unix_ms(d * 86_400_000));
    let recorded = (proptest::collection::btree_set(any_label(), 2..9), "[PFEsxXTC-]{9}").prop_filter_map(
        "outcomes differ",
        |(labels, letters)| {
            let labels: Vec<OrderLabel> = labels.into_iter().collect();
            let vector = OutcomeVector::from_letters(&letters[..labels.len()]).unwrap();
            Recorded::new(labels, vector).ok()
        },
    );
    let renewed = proptest::option::of((day(), 0..5_usize, 0..9_usize, 0..9_usize, 0..9_usize).prop_map(
        |(since, change, orders, before, now)| Renewal {
            since,
            compared: Comparison { change: Change::ALL[change], orders, before, now },
        },
    ));
    let polluters = proptest::collection::vec(any_id(), 0..3);
    let issue = || "(?s)x.{0,6}";
    let frozen = (any_id(), recorded, polluters, signatures(), day(), day(), issue(), renewed).prop_map(
        |(test, recorded, polluters, signatures, frozen_at, freeze_until, issue, renewed)| {
            Entry::Frozen(Frozen {
                test,
                recorded,
                polluters,
                signatures,
                frozen_at,
                freeze_until,
                issue,
                renewed,
            })
        },
    );
    let chance = (any_label(), "[PFs]{5}").prop_filter_map("outcomes differ", |(label, letters)| {
        Chance::new(label, OutcomeVector::from_letters(&letters).unwrap()).ok()
    });
    let quarantined = (
        any_id(),
        any::<u64>(),
        chance,
        signatures(),
        day(),
        proptest::option::of(day()),
        issue(),
    )
        .prop_map(|(test, source, chance, signatures, quarantined_at, until, issue)| {
            let source = (until.is_none() || source % 3 > 0).then_some(source);
            Entry::Quarantined(Quarantined { test, source, chance, signatures, quarantined_at, until, issue })
        });
    prop_oneof![frozen, quarantined]
}

fn any_ledger() -> impl Strategy<Value = Ledger> {
    proptest::collection::vec(any_entry(), 0..6).prop_map(|entries| {
        let mut ledger = Ledger::default();
        for entry in entries {
            ledger.put(entry);
        }
        ledger
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_ledger_survives_its_file_and_any_change_of_it(first in any_ledger(), second in any_ledger()) {
        let folder = Folder::new();
        folder.open().unwrap().write(first.clone()).unwrap();
        let mut file = folder.open().unwrap();
        prop_assert_eq!(file.ledger(), &first);
        let text = folder.text();
        file.write(first).unwrap();
        prop_assert_eq!(folder.text(), text, "writing again changes nothing");
        file.write(second.clone()).unwrap();
        let changed = folder.text();
        let reread = folder.open().unwrap();
        prop_assert_eq!(reread.ledger(), &second);
        // What the file says does not depend on what it said before.
        let anew = Folder::new();
        anew.open().unwrap().write(second).unwrap();
        prop_assert_eq!(changed, anew.text());
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(?s).{0,200}", at in 0..700_usize, cut in 0..40_usize) {
        let folder = Folder::with(&text);
        let _ = folder.open();
        let mut bytes = TWO.as_bytes().to_vec();
        let end = (at + cut).min(bytes.len());
        bytes.splice(at.min(end)..end, text.bytes().take(20));
        fs::write(folder.path(), bytes).unwrap();
        let _ = folder.open();
    }
}

#[test]
fn a_ledger_of_five_thousand_entries_is_read_and_written_in_a_moment() {
    let id = |n| TestId::new(format!("tests/test_{}.py::test_{n}[a rather long parameter]", n / 40));
    let large = ledger((0..5_000).map(|n| Entry::Frozen(frozen(id(n)))));
    let folder = Folder::new();
    let started = std::time::Instant::now();
    folder.open().unwrap().write(large.clone()).unwrap();
    let mut file = folder.open().unwrap();
    assert_eq!(file.ledger(), &large);
    file.write(large).unwrap();
    // A linear reader takes a second in a debug build, a quadratic one a minute.
    let took = started.elapsed();
    assert!(took.as_secs() < 20, "{took:?}");
}
