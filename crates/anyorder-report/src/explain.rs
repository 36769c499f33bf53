//! The verdict's table in words: what each finding means, which runs show it, and an example. The same rows stand in
//! `docs/verdict.md`; a test holds the two to one list.

use crate::view::Finding;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Explanation {
    /// What the test does on base; empty where it makes no difference.
    pub(crate) on_base: &'static str,
    /// What it does on patched.
    pub(crate) on_patched: &'static str,
    /// Which runs show it, and what is concluded from them.
    pub(crate) reasoning: &'static str,
    /// A case of it.
    pub(crate) example: &'static str,
    /// What to do about it.
    pub(crate) advice: &'static str,
}

#[expect(clippy::too_many_lines, reason = "one entry a finding, nothing but text")]
pub(crate) fn of(finding: Finding) -> Explanation {
    match finding {
        Finding::Regressed => Explanation {
            on_base: "passes in every order",
            on_patched: "fails in every order",
            reasoning: "The sweeps of both trees agree with themselves and not with each other. A failing order is run again in fresh interpreters on patched, and the same order on base: patched must fail each time, base pass each time.",
            example: "The patch changes how a price is rounded, and `test_total` expects the old rounding.",
            advice: "Plain pytest shows it too. Mend the code or the test. It can never be frozen.",
        },
        Finding::Introduced => Explanation {
            on_base: "passes in every order",
            on_patched: "depends on order",
            reasoning: "The failing order fails on patched in fresh interpreters each time, and passes on base each time. Without the patch's new tests it fails on patched as well, so it is the changed code, and no new test, that made the difference.",
            example: "The patch adds an `lru_cache` that nobody empties: `test_rates` passes alone, and fails after a test that has put another rate in.",
            advice: "Mend the place where the state is kept, or reset it in a fixture; don't pin the order.",
        },
        Finding::NewTestCoupled => Explanation {
            on_base: "not there",
            on_patched: "depends on order",
            reasoning: "A test that base does not have fails in one order and passes in another, each time, in fresh interpreters. Run alone it tells which kind it is: brittle if it fails alone, a victim if it passes alone.",
            example: "A new test uses a plugin that an older test has loaded. It passes in the default order, and fails by itself.",
            advice: "Brittle: let it set up what it needs. A victim: find what an older test leaves behind.",
        },
        Finding::PoisonsNeighbours => Explanation {
            on_base: "passes in every order",
            on_patched: "depends on order, and not without the new tests",
            reasoning: "The failing order fails on patched with all its tests, and passes on patched with the tests that both trees have, each time: a new test leaves something behind.",
            example: "A new test sets an environment variable without `monkeypatch`, and an old test that reads it fails after it.",
            advice: "Mend the new test: it should leave nothing behind.",
        },
        Finding::NewLeak => Explanation {
            on_base: "",
            on_patched: "leaves state behind that it did not leave on base",
            reasoning: "All tests pass in every order; probes taken before and after each test show that a test which the patch touches leaves state behind that base did not leave.",
            example: "A changed test registers a handler in a module-level list, and nobody takes it out again. No other test looks at the list yet.",
            advice: "Undo it in the test, before somebody depends on it.",
        },
        Finding::NewTestFails => Explanation {
            on_base: "not there",
            on_patched: "fails in every order",
            reasoning: "A test that base does not have passes in no order, also not alone, and not in fresh interpreters.",
            example: "A new test expects a function that the patch does not have.",
            advice: "Plain pytest shows it too. Mend the code or the test. It can never be frozen.",
        },
        Finding::UnexplainedAbsence => Explanation {
            on_base: "",
            on_patched: "the process dies in it, or it never ran, in some order",
            reasoning: "Each planned test must end in one record. Where the process died, the test that was running is the culprit, and those behind it have shown nothing.",
            example: "A test calls into a C extension, which crashes if a certain other test ran before.",
            advice: "Replay the order and find out what ends the process; until then nothing is known of the tests behind it.",
        },
        Finding::Replaced => Explanation {
            on_base: "depends on order",
            on_patched: "depends on order, but because of new tests",
            reasoning: "The order fails on base, passes on patched with the tests that both trees have, and fails on patched with all its tests: the old cause is gone, a new one came.",
            example: "The patch mends a cache that broke `test_user`, and its new test breaks `test_user` through another one.",
            advice: "The patch brings a cause of its own: mend the new test.",
        },
        Finding::Exposed => Explanation {
            on_base: "a test that is gone kept it passing",
            on_patched: "depends on order",
            reasoning: "The order passes on base with all its tests, and fails on base with the tests that both trees have: a test that the patch removes or moves had cleaned up. It blocks where the default order is red now, unless the configuration says otherwise.",
            example: "The patch deletes `test_reset`, after which `test_count` used to pass.",
            advice: "The dependence is old, the patch lays it open. Let the test set up what it needs.",
        },
        Finding::Masked => Explanation {
            on_base: "depends on order",
            on_patched: "passes, but fails again without the new tests",
            reasoning: "The order fails on base and on patched with the tests that both trees have, and passes on patched with all its tests: a new test cleans up by chance.",
            example: "A new test empties a registry at its end, and hides that another one fills it.",
            advice: "The leak is still there: mend the test that leaves it.",
        },
        Finding::EvidenceLost => Explanation {
            on_base: "passes in every order",
            on_patched: "skipped, or gone",
            reasoning: "The test is not collected on patched, or skipped in every order there. Where a new test looks like it, the report says so.",
            example: "The patch renames a test, or adds `@pytest.mark.skip` to it.",
            advice: "Look whether that was meant.",
        },
        Finding::Destabilised => Explanation {
            on_base: "",
            on_patched: "two outcomes for one order, more often than on base by more than chance; or a new test that is flaky",
            reasoning: "The same order gives both outcomes on patched. All runs of both trees together say that this is more than chance (Fisher's exact test), or base does not have the test.",
            example: "The patch waits for 10 ms where it waited for an event.",
            advice: "It is chance, not order: look at time, threads, randomness and network in what the patch changes.",
        },
        Finding::Inconclusive => Explanation {
            on_base: "",
            on_patched: "no decision was reached",
            reasoning: "Replays ended, or contradicted the sweep. It is never taken for a pass.",
            example: "Forked runs fail and fresh ones pass: the cause is outside the process.",
            advice: "Try `--executor fresh` or `--jobs 1`, or give each run a database of its own (`ANYORDER_SLOT`).",
        },
        Finding::Flaky => Explanation {
            on_base: "",
            on_patched: "two outcomes for one order, on either tree",
            reasoning: "The same order, run again, gave another outcome. That is chance and not order, and no more so than before the patch.",
            example: "A test asks a server that does not always answer.",
            advice: "It can't be evidence. `anyorder quarantine` keeps it on a list until it is edited.",
        },
        Finding::PreExisting => Explanation {
            on_base: "depends on order",
            on_patched: "depends on order, in the same orders",
            reasoning: "The same order fails on both trees, with the tests that both have: the cause was there before the patch.",
            example: "`test_user` has failed after `test_admin` for a year.",
            advice: "Not this patch's fault, and worth an issue of its own. `anyorder freeze` keeps it on a list until a day.",
        },
        Finding::BrokenOnBase => Explanation {
            on_base: "fails in every order",
            on_patched: "fails in every order",
            reasoning: "Neither sweep has an order in which it passes.",
            example: "A test that expects last year's date.",
            advice: "Not this patch's fault. It can never be frozen: mend it, or mark it `xfail`.",
        },
        Finding::Fixed => Explanation {
            on_base: "depends on order",
            on_patched: "passes in every order; the order that fails on base passes in replays",
            reasoning: "The order that fails on base passes on patched in fresh interpreters each time, with the tests that both trees have as well: it is the change that mends it, and no new test that hides it.",
            example: "The patch resets a cache in a fixture.",
            advice: "The patch mended it. An entry of it in the ledger can go.",
        },
        Finding::Repaired => Explanation {
            on_base: "fails in every order",
            on_patched: "passes in every order",
            reasoning: "The sweeps of both trees agree with themselves: no order on base passes, no order on patched fails.",
            example: "The patch mends the bug that the test was written for.",
            advice: "The strongest evidence that there is.",
        },
    }
}
