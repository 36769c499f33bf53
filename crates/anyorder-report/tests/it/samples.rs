//! Views to report on. The projects are made up; their figures are consistent.

use std::time::Duration;

use anyorder_core::model::{
    Excerpt, Executor, OrderLabel, Outcome, OutcomeVector, Phase, Seed, TestId, Tree,
};
use anyorder_report::view::{VerdictOutcome as Verdict, *};

pub(crate) fn seed(number: i128) -> OrderLabel {
    OrderLabel::Seed(Seed(number))
}

/// default, alone, reverse, seed:1, its reverse, then seeds to `last`.
pub(crate) fn labels(last: i128) -> Vec<OrderLabel> {
    let mut labels = vec![OrderLabel::Default, OrderLabel::Alone, OrderLabel::Reverse, seed(1)];
    labels.push(OrderLabel::SeedReverse(Seed(1)));
    labels.extend((2..=last).map(seed));
    labels
}

pub(crate) fn orders(last: i128) -> Vec<OrderView> {
    let mut orders = Vec::new();
    for (at, label) in (0u32..).zip(labels(last)) {
        let mut order = OrderView::completed(label, Duration::from_millis(1180 + u64::from(at * 7)));
        order.run = Some(format!("{}", at + 1));
        order.fixture_setups = Some(if at == 0 { 120 } else { 120 + at * 13 });
        orders.push(order);
    }
    orders[1].fixture_setups = None;
    orders
}

pub(crate) fn vector(letters: &str) -> OutcomeVector {
    OutcomeVector::from_letters(letters).unwrap()
}

pub(crate) fn stable(id: &str, orders: usize) -> TestView {
    TestView {
        listed: None,
        id: TestId::new(id),
        class: Class::StablePass,
        vector: OutcomeVector(vec![Outcome::Passed; orders]),
        failures: Vec::new(),
        witness: Witness::default(),
        notes: Vec::new(),
    }
}

pub(crate) fn seen(order: OrderLabel, outcomes: &str, run: Option<&str>) -> Seen {
    Seen {
        order,
        tree: None,
        outcomes: vector(outcomes),
        fresh: 0,
        common_only: false,
        run: run.map(str::to_owned),
        tests: Vec::new(),
        flags: Vec::new(),
    }
}

pub(crate) fn on(tree: Tree, order: OrderLabel, outcomes: &str, run: Option<&str>) -> Seen {
    Seen { tree: Some(tree), fresh: u32::try_from(outcomes.len()).unwrap(), ..seen(order, outcomes, run) }
}

pub(crate) fn failure(signature: &str, text: &str) -> FailureView {
    FailureView {
        phase: Some(Phase::Call),
        signature: signature.to_owned(),
        text: Excerpt { head: text.to_owned(), tail: String::new(), total_bytes: text.len() as u64 },
    }
}

pub(crate) fn bound(seeds: u32, failing: u32, upper: f64, lower: f64) -> Bound {
    let open = failing == 0;
    Bound {
        independent_seeds: seeds,
        failing,
        upper95: upper,
        lower95: lower,
        rule_of_three: open.then(|| 3.0 / f64::from(seeds)),
        victim_cleaners: open.then_some(6),
        brittle_setters: open.then_some(7),
        isolated: true,
    }
}

pub(crate) fn environment() -> Environment {
    Environment {
        interpreter: "/srv/shop/.venv/bin/python".into(),
        python: "3.11.7".into(),
        implementation: "cpython".into(),
        platform: "linux-x86_64".into(),
        pytest: "9.2.0".into(),
        plugins: vec![("pytest-xdist".into(), "3.8.0".into()), ("pytest-cov".into(), "7.0.0".into())],
        fingerprint: "9f2c".into(),
    }
}

fn switched_off() -> Vec<SwitchedOff> {
    vec![
        SwitchedOff {
            what: "pytest-xdist".into(),
            how: "`-n auto` ignored".into(),
            whence: "addopts".into(),
        },
        SwitchedOff { what: "pytest-cov".into(), how: "not loaded".into(), whence: String::new() },
    ]
}

/// Nothing found in 909 tests, 20 independent seeds.
pub(crate) fn clean() -> RunView {
    let orders = orders(20);
    let tests = (0..909).map(|n| stable(&format!("tests/test_api.py::test_{n}"), orders.len())).collect();
    RunView {
        project: Project { name: "shop".into(), root: "/srv/shop".into() },
        tree: "working tree".into(),
        environment: environment(),
        executor: ExecutorView { executor: Executor::Fork, why: None },
        sandbox: SandboxView { mode: "overlay".into(), why: None },
        switched_off: switched_off(),
        constraints: 0,
        orders,
        tests,
        failures: Vec::new(),
        causes: Vec::new(),
        bound: bound(20, 0, 0.139_1, 0.0),
        coverage: Coverage { ordered_pairs: 1.0, adjacent_pairs: 0.027, sampled: false },
        weaknesses: Vec::new(),
        incomplete: None,
        resumed: 0,
        sweep: Some("4".into()),
        cost: Cost {
            wall: Duration::from_secs_f64(31.4),
            runs: 23,
            replays: 0,
            suite_equivalents: Some(24.2),
        },
        exit_code: 0,
        invocation: Invocation { blame: false, ..Invocation::default() },
    }
}

/// 500 parametrised victims of one polluter, a brittle test, a flaky one, one broken anyhow; seeds to 8.
pub(crate) fn troubled() -> RunView {
    let mut view = clean();
    view.orders = orders(8);
    let width = view.orders.len();
    view.tests = (0..400).map(|n| stable(&format!("tests/test_api.py::test_{n}"), width)).collect();
    view.failures = vec![
        failure(
            "AssertionError @ tests/test_price.py: assert price(case) == expected",
            "    def test_price(case, expected):\n>       assert price(case) == expected\nE       assert 90 == 100\n\
             E        +  where 90 = price('book')\n\ntests/test_price.py:14: AssertionError\n",
        ),
        failure("KeyError @ app/registry.py: return _handlers[name]", "KeyError: 'json'\n"),
        failure("TimeoutError @ tests/test_net.py: sock.recv(N)", ""),
        failure("ImportError @ tests/test_old.py: import imp", "E   ImportError: No module named 'imp'\n"),
    ];
    view.failures[1].phase = Some(Phase::Setup);
    for n in 0..500 {
        view.tests.push(TestView {
            listed: None,
            notes: Vec::new(),
            id: TestId::new(format!("tests/test_price.py::test_price[case {n}-100]")),
            class: Class::OrderSensitive,
            vector: vector("PPFPFFPPFPPP"),
            failures: vec![FailureAt { order: 2, failure: 0 }, FailureAt { order: 4, failure: 0 }],
            witness: Witness {
                seen: vec![
                    seen(OrderLabel::Reverse, "FFFF", Some("3")),
                    seen(OrderLabel::SeedReverse(Seed(1)), "F", Some("5")),
                    seen(OrderLabel::Default, "PPPP", Some("1")),
                    seen(OrderLabel::Alone, "P", None),
                ],
                minimal_order: Vec::new(),
            },
        });
    }
    view.tests.push(TestView {
        listed: None,
        notes: Vec::new(),
        id: TestId::new("tests/test_registry.py::TestHandlers::test_json_handler_is_used"),
        class: Class::OrderSensitive,
        vector: vector("PEPPEEPPPPEP"),
        failures: vec![FailureAt { order: 1, failure: 1 }],
        witness: Witness {
            seen: vec![
                seen(OrderLabel::Alone, "EEE", None),
                seen(seed(2), "EEE", Some("6")),
                seen(OrderLabel::Default, "PPP", Some("1")),
            ],
            minimal_order: vec![TestId::new(
                "tests/test_registry.py::TestHandlers::test_json_handler_is_used",
            )],
        },
    });
    view.tests.push(TestView {
        listed: None,
        notes: Vec::new(),
        id: TestId::new("tests/test_net.py::test_ping"),
        class: Class::Flaky,
        vector: vector("PPPPPPPTPPPP"),
        failures: vec![FailureAt { order: 7, failure: 2 }],
        witness: Witness { seen: vec![seen(seed(4), "TPPTP", Some("8"))], minimal_order: Vec::new() },
    });
    view.tests.push(TestView {
        listed: None,
        notes: Vec::new(),
        id: TestId::new("tests/test_old.py::test_imp"),
        class: Class::StableFail,
        vector: vector("FFFFFFFFFFFF"),
        failures: (0..12).map(|order| FailureAt { order, failure: 3 }).collect(),
        witness: Witness::default(),
    });
    view.tests.push(TestView {
        class: Class::StableSkip,
        vector: vector("ssssssssssss"),
        ..stable("tests/test_win.py::test_registry", 12)
    });
    view.causes = view.group();
    view.bound = bound(8, 5, 0.914, 0.245);
    view.coverage = Coverage { ordered_pairs: 0.998, adjacent_pairs: 0.011, sampled: false };
    view.cost = Cost { wall: Duration::from_secs(42), runs: 25, replays: 13, suite_equivalents: Some(26.9) };
    view.constraints = 3;
    view.weaknesses = vec![Weakness::DeclaredOrder { constraints: 3 }];
    view.exit_code = 1;
    view.invocation.blame = true;
    view.invocation.flags = vec!["--python".into(), ".venv/bin/python".into()];
    view
}

/// An order in which the process died, and what that left absent.
pub(crate) fn crashed() -> RunView {
    let mut view = clean();
    view.orders = orders(3);
    view.orders[5].ending = EndingView::Crashed {
        culprit: Some(TestId::new("tests/test_c.py::test_free_twice")),
        how: "killed by signal 11".into(),
    };
    view.orders[6].ending = EndingView::TimedOut { culprit: None };
    view.tests.truncate(12);
    for test in &mut view.tests {
        test.vector = vector("PPPPPPP");
    }
    let mut crashing = stable("tests/test_c.py::test_free_twice", 7);
    crashing.class = Class::OrderSensitive;
    crashing.vector = vector("PPPPPCP");
    crashing.witness.seen =
        vec![seen(seed(2), "CCC", Some("6")), seen(OrderLabel::Default, "PPP", Some("1"))];
    let mut after = stable("tests/test_c.py::test_after", 7);
    after.class = Class::OrderSensitive;
    after.vector = vector("PPPPP--");
    after.witness.seen = vec![seen(seed(2), "---", Some("6")), seen(OrderLabel::Default, "PPP", Some("1"))];
    view.tests.extend([crashing, after]);
    view.causes = view.group();
    view.bound = bound(2, 1, 0.987, 0.013);
    view.weaknesses = vec![Weakness::FewTests { tests: 14 }];
    view.sandbox = SandboxView { mode: "tmp".into(), why: Some("user namespaces are switched off".into()) };
    view.executor = ExecutorView {
        executor: Executor::Fresh,
        why: Some("thread `poller` is alive after collection".into()),
    };
    view.switched_off.clear();
    view.exit_code = 1;
    view
}

/// Stopped after seven orders of 23.
pub(crate) fn interrupted() -> RunView {
    let mut view = clean();
    for order in &mut view.orders[7..] {
        order.ending = EndingView::NotRun;
        order.duration = None;
        order.fixture_setups = None;
        order.run = None;
    }
    view.orders[6].ending = EndingView::Interrupted;
    view.bound = bound(2, 0, 0.776, 0.0);
    view.bound.victim_cleaners = Some(0);
    view.incomplete = Some(Incomplete { why: "interrupted".into(), missing: 17, resumable: true });
    view.resumed = 4;
    view.exit_code = 130;
    view.invocation.pytest_args = vec!["tests".into(), "-k".into(), "not slow".into()];
    view
}

fn tree(name: &str, revision: Option<&str>, last: i128, tests: usize) -> TreeDescription {
    TreeDescription {
        name: name.into(),
        revision: revision.map(str::to_owned),
        tests,
        orders: orders(last),
        bound: Some(bound(20, 0, 0.139_1, 0.0)),
        coverage: Coverage { ordered_pairs: 1.0, adjacent_pairs: 0.031, sampled: false },
        cached: false,
    }
}

fn evidence(numbers: std::ops::Range<usize>) -> Vec<EvidenceView> {
    numbers
        .map(|n| EvidenceView { id: TestId::new(format!("tests/test_api.py::test_{n}")), repaired: n == 0 })
        .collect()
}

/// A patch that repairs a test.
pub(crate) fn accepted() -> CheckView {
    let run = clean();
    CheckView {
        project: run.project,
        environment: run.environment,
        environment_drift: Vec::new(),
        executor: run.executor,
        sandbox: run.sandbox,
        switched_off: run.switched_off,
        constraints: 0,
        base: TreeDescription { cached: true, ..tree("main", Some("3f2a1c9"), 20, 909) },
        candidates: vec![CandidateView {
            patched: tree("uncommitted changes", None, 20, 910),
            verdict: Verdict::Accept,
            findings: vec![FindingView {
                listed: None,
                next: None,
                id: TestId::new("tests/test_api.py::test_0"),
                finding: Finding::Repaired,
                action: Action::Credit,
                base: Some(SideView { class: Class::StableFail, vector: vector(&"F".repeat(23)) }),
                patched: Some(SideView { class: Class::StablePass, vector: vector(&"P".repeat(23)) }),
                witness: Witness {
                    seen: vec![
                        on(Tree::Base, OrderLabel::Default, "FFF", Some("31")),
                        on(Tree::Patched(None), OrderLabel::Default, "PPP", Some("32")),
                    ],
                    minimal_order: Vec::new(),
                },
                cause: 1,
                failure: None,
                notes: Vec::new(),
            }],
            failures: Vec::new(),
            causes: vec![Cause { number: 1, members: vec![0], because: None }],
            evidence: evidence(0..905),
            starred: Vec::new(),
            not_starred: Vec::new(),
            not_evidence: vec![
                NotEvidenceView {
                    id: TestId::new("tests/test_win.py::test_a"),
                    why: "skipped in every order".into(),
                },
                NotEvidenceView {
                    id: TestId::new("tests/test_win.py::test_b"),
                    why: "skipped in every order".into(),
                },
                NotEvidenceView {
                    id: TestId::new("tests/test_old.py::test_c"),
                    why: "order-sensitive on both trees".into(),
                },
            ],
            incomplete: None,
            cost: Cost { wall: Duration::from_secs(33), runs: 29, replays: 6, suite_equivalents: Some(24.0) },
        }],
        weaknesses: Vec::new(),
        resumed: 0,
        check: Some("7".into()),
        cost: Cost { wall: Duration::from_secs(74), runs: 52, replays: 6, suite_equivalents: Some(48.8) },
        exit_code: 0,
        invocation: Invocation::default(),
    }
}

/// A patch whose new test passes only after another, and that makes an old one depend on order.
pub(crate) fn blocked() -> CheckView {
    let mut view = accepted();
    let base_orders = orders(5);
    view.base = TreeDescription { orders: base_orders.clone(), ..tree("main", Some("3f2a1c9"), 5, 40) };
    view.base.bound = Some(bound(5, 0, 0.451, 0.0));
    let candidate = &mut view.candidates[0];
    candidate.patched =
        TreeDescription { orders: base_orders, ..tree("coupled.diff", Some("d41d8cd"), 5, 41) };
    candidate.patched.bound = Some(bound(5, 3, 0.947, 0.147));
    candidate.verdict = Verdict::Block;
    candidate.failures = vec![
        failure("KeyError @ app/registry.py: return _handlers[name]", "E   KeyError: 'json'\n"),
        failure("AssertionError @ tests/test_cache.py: assert cache.size() == N", "E   assert 2 == 0\n"),
    ];
    let patched = || Tree::Patched(None);
    candidate.findings = vec![
        FindingView {
            listed: None,
            next: None,
            id: TestId::new("tests/test_registry.py::test_new_handler"),
            finding: Finding::NewTestCoupled,
            action: Action::Block,
            base: None,
            patched: Some(SideView { class: Class::OrderSensitive, vector: vector("PFPFPFPPF") }),
            witness: Witness {
                seen: vec![
                    on(patched(), OrderLabel::Alone, "FFF", None),
                    on(patched(), seed(1), "FFF", Some("44")),
                    on(patched(), OrderLabel::Default, "PPP", Some("41")),
                ],
                minimal_order: Vec::new(),
            },
            cause: 1,
            failure: Some(0),
            notes: Vec::new(),
        },
        FindingView {
            listed: None,
            next: None,
            id: TestId::new("tests/test_cache.py::test_starts_empty"),
            finding: Finding::Introduced,
            action: Action::Block,
            base: Some(SideView { class: Class::StablePass, vector: vector("PPPPPPPPP") }),
            patched: Some(SideView { class: Class::OrderSensitive, vector: vector("PPFPFPPFP") }),
            witness: Witness {
                seen: vec![
                    on(patched(), OrderLabel::Reverse, "FFF", Some("43")),
                    on(Tree::Base, OrderLabel::Reverse, "PPP", Some("12")),
                    on(patched(), OrderLabel::Alone, "P", None),
                ],
                minimal_order: vec![
                    TestId::new("tests/test_cache.py::test_put"),
                    TestId::new("tests/test_cache.py::test_starts_empty"),
                ],
            },
            cause: 2,
            failure: Some(1),
            notes: Vec::new(),
        },
        FindingView {
            listed: None,
            next: None,
            id: TestId::new("tests/test_net.py::test_ping"),
            finding: Finding::Flaky,
            action: Action::Quarantine,
            base: Some(SideView { class: Class::Flaky, vector: vector("PPFPPPPPP") }),
            patched: Some(SideView { class: Class::StablePass, vector: vector("PPPPPPPPP") }),
            witness: Witness {
                seen: vec![on(Tree::Base, OrderLabel::Reverse, "FPPFP", Some("12"))],
                minimal_order: Vec::new(),
            },
            cause: 3,
            failure: None,
            notes: Vec::new(),
        },
    ];
    candidate.causes = candidate.group();
    candidate.evidence = evidence(1..39);
    candidate.not_evidence = vec![NotEvidenceView {
        id: TestId::new("tests/test_registry.py::test_new_handler"),
        why: "order-sensitive since the patch".into(),
    }];
    view.weaknesses = vec![Weakness::TooSlow { asked: 0.05, reached: 0.451 }];
    view.environment_drift = vec!["attrs 25.1.0 on base, 25.3.0 on patched".into()];
    view.exit_code = 1;
    view
}

/// A patch that could not be decided in its budget.
pub(crate) fn undecided() -> CheckView {
    let mut view = blocked();
    let candidate = &mut view.candidates[0];
    candidate.verdict = Verdict::Review;
    candidate.findings.truncate(1);
    candidate.findings[0].finding = Finding::Inconclusive;
    candidate.findings[0].action = Action::Review;
    candidate.findings[0].notes = vec!["3 replays on base are missing".into()];
    candidate.causes = candidate.group();
    candidate.incomplete =
        Some(Incomplete { why: "budget of 300 s spent".into(), missing: 3, resumable: true });
    view.environment_drift.clear();
    view.exit_code = 5;
    view
}

/// Three patches against one base.
pub(crate) fn several() -> CheckView {
    let mut view = accepted();
    view.candidates[0].patched.name = "good.diff".into();
    let mut review = undecided().candidates.remove(0);
    review.patched.name = "slow.diff".into();
    view.candidates.push(review);
    view.candidates.push(blocked().candidates.remove(0));
    view.exit_code = 1;
    view
}

/// A machine on which less works than could.
pub(crate) fn doctor() -> DoctorView {
    DoctorView {
        version: "0.1.0".into(),
        project: Project { name: "shop".into(), root: "/srv/shop".into() },
        environment: Some(environment()),
        tests: Some(909),
        executor: Some(ExecutorView {
            executor: Executor::Fresh,
            why: Some("thread `poller` is alive after collection".into()),
        }),
        sandbox: Some(SandboxView { mode: "overlay".into(), why: None }),
        switched_off: switched_off(),
        rows: vec![
            DoctorRow {
                name: "interpreter".into(),
                health: Health::Good,
                found: ".venv/bin/python (3.11.7)".into(),
                details: vec![
                    "VIRTUAL_ENV is not set".into(),
                    ".venv/bin/python imports pytest 9.2.0".into(),
                ],
                advice: None,
            },
            DoctorRow {
                name: "fork".into(),
                health: Health::Limited,
                found: "not safe here: each order starts an interpreter".into(),
                details: vec!["thread `poller` was started by tests/conftest.py".into()],
                advice: Some("start it in a fixture, not on import".into()),
            },
            DoctorRow {
                name: "git".into(),
                health: Health::Good,
                found: "2.39.5, main at 3f2a1c9".into(),
                details: Vec::new(),
                advice: None,
            },
        ],
        exit_code: 0,
    }
}

/// A sweep of twenty seeds.
pub(crate) fn plan() -> PlanView {
    PlanView {
        tree: "base and patched".into(),
        tests: 909,
        orders: labels(20),
        first_order: Some(Duration::from_millis(1200)),
        alone: Some(Duration::from_secs(9)),
        jobs: 2,
        time: Some(Duration::from_secs(46)),
        bound: bound(20, 0, 0.139_1, 0.0),
        options: vec![
            PlanOption { flag: "--quick".into(), time: Duration::from_secs(12), upper95: 0.632 },
            PlanOption { flag: "--bound 5%".into(), time: Duration::from_secs(92), upper95: 0.0495 },
        ],
        weaknesses: vec![Weakness::StateOutside { what: "a PostgreSQL server on localhost".into() }],
    }
}
