//! The engine with pytest and the real agent.

use std::time::Duration;

use anyorder_core::model::{Ending, Executor, Outcome, Phase, TestIx};
use anyorder_runner::{SandboxMode, StartError};

use crate::fixture::{Count, Project, assert_no_process_with};

const EXECUTORS: [Executor; 2] = [Executor::Fork, Executor::Fresh];

const SUITE: &str = "
import pytest
state = []

@pytest.fixture(scope='module')
def shared():
    yield 1
    state.clear()

class TestClass:
    def test_sets(self, shared): state.append(1)
    def test_needs_none(self): assert not state

@pytest.mark.parametrize('x', ['plain', 'with space', 'new\\nline', 'ü'])
def test_parametrised(x): pass

def test_skipped(): pytest.skip('no')
@pytest.mark.xfail
def test_xfail(): assert False
@pytest.mark.xfail
def test_xpass(): pass
@pytest.fixture
def bad(): raise KeyError(1)
def test_error(bad): pass
";

fn project(test_file: &str) -> Project {
    let project = Project::pytest();
    project.file("test_it.py", test_file);
    project
}

#[test]
fn both_executors_give_the_same_outcomes_as_pytest_would() {
    let project = project(SUITE);
    let orders = [vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 9], vec![9, 8, 7, 6, 5, 4, 3, 2, 1, 0]];
    let mut session = project.start().unwrap();
    let suite = &session.collection().suite;
    assert_eq!(suite.len(), 10);
    assert_eq!(suite.id(TestIx(0)).raw(), "test_it.py::TestClass::test_sets");
    assert_eq!(session.collection().fork_refused, [""; 0]);
    assert!(!session.collection().environment.pytest.is_empty());
    for executor in EXECUTORS {
        let (result, heard) = crate::fixture::sweep(&mut session, executor, &orders);
        result.unwrap();
        assert_eq!(*heard.ending(0), Ending::Completed, "{executor:?} {:?}", heard.notes);
        assert_eq!(*heard.ending(1), Ending::Completed, "{executor:?} {:?}", heard.notes);
        assert_eq!([heard.letters(0), heard.letters(1)], ["PFPPPPsxXE", "EXxsPPPPPP"], "{executor:?}");
        let failure = heard.records[&0].results[1].failure.clone().unwrap();
        assert_eq!(failure.phase, Phase::Call);
        assert!(failure.signature.0.starts_with("AssertionError @ test_it.py:"), "{failure:?}");
        assert!(heard.records[&0].fixture_setups.is_some());
    }
}

fn six(x: &str) -> String {
    format!(
        "
import os, signal, sys, time, pytest
def test_a(): pass
def test_b(): pass
{x}
def test_c(): pass
def test_d(): pass
def test_e(): pass
"
    )
}

#[test]
fn a_crash_is_blamed_on_the_test_and_the_phase_in_which_it_happened() {
    let deaths = [
        ("os.kill(os.getpid(), 9)", "killed by signal 9"),
        ("os._exit(0)", "exited 0 before the end"),
        ("os.abort()", "killed by signal 6"),
    ];
    let places = [
        (Phase::Setup, "@pytest.fixture\ndef f(): DIE\ndef test_x(f): pass"),
        (Phase::Call, "def test_x(): DIE"),
        (Phase::Teardown, "@pytest.fixture\ndef f():\n    yield\n    DIE\ndef test_x(f): pass"),
    ];
    for (death, how) in deaths {
        for (phase, place) in &places {
            let project = project(&six(&place.replace("DIE", death)));
            for executor in EXECUTORS {
                let heard = project.sweep(executor, &[vec![0, 1, 2, 3, 4, 5]]);
                assert_eq!(heard.letters(0), "PPC---", "{death} in {phase:?}, {executor:?}");
                let expected = Ending::Crashed { culprit: Some(TestIx(2)), how: how.to_owned() };
                assert_eq!(*heard.ending(0), expected);
                assert_eq!(heard.records[&0].results[2].failure.as_ref().unwrap().phase, *phase);
            }
        }
    }
}

#[test]
fn leaving_pytest_early_is_never_a_pass() {
    for way in ["sys.exit(0)", "pytest.exit('enough', 0)", "raise KeyboardInterrupt"] {
        let project = project(&six(&format!("def test_x(): {way}")));
        for executor in EXECUTORS {
            let heard = project.sweep(executor, &[vec![0, 1, 2, 3, 4, 5]]);
            assert_ne!(heard.outcome(0, 2), Outcome::Passed, "{way} {executor:?}");
            let letters = heard.letters(0);
            assert!(["PPC---", "PPFPPP"].contains(&letters.as_str()), "{way} {executor:?} {letters}");
            assert_eq!(heard.ending(0).is_complete(), letters == "PPFPPP");
        }
    }
}

#[test]
fn a_hang_is_a_timeout_wherever_it_is() {
    let places = [
        "@pytest.fixture\ndef f(): time.sleep(100)\ndef test_x(f): pass",
        "def test_x():\n    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n    time.sleep(100)",
        "@pytest.fixture\ndef f():\n    yield\n    time.sleep(100)\ndef test_x(f): pass",
    ];
    for place in places {
        let mut project = project(&six(place));
        project.limit = Duration::from_secs(4);
        project.grace = Duration::from_millis(500);
        for executor in EXECUTORS {
            let heard = project.sweep(executor, &[vec![0, 1, 2, 3, 4, 5]]);
            assert_eq!(heard.letters(0), "PPT---", "{place} {executor:?} {:?}", heard.notes);
            assert_eq!(*heard.ending(0), Ending::TimedOut { culprit: Some(TestIx(2)) });
        }
    }
}

#[test]
fn records_survive_what_a_test_does_to_descriptors_clocks_and_modules() {
    let bodies = [
        "os.dup2(os.open('/dev/null', os.O_RDWR), 1); os.dup2(1, 2)",
        "\n    for fd in range(3, 256):\n        try: os.write(fd, b'garbage\\n')\n        except OSError: pass",
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))",
        "time.monotonic = time.monotonic_ns = time.time = lambda: 0",
        "os.environ.clear(); os.chdir('/')",
        "sys.modules.clear()",
        "import socket, json; socket.socket = None; json.dumps = json.loads = None; os.write = os.getpid = None",
    ];
    for body in bodies {
        let project = project(&six(&format!("def test_x(): {body}")));
        for executor in EXECUTORS {
            let heard = project.sweep(executor, &[vec![0, 1, 2]]);
            assert_eq!(heard.letters(0), "PPP", "{body} {executor:?} {:?}", heard.notes);
            assert_eq!(*heard.ending(0), Ending::Completed, "{body} {executor:?} {:?}", heard.notes);
        }
    }
}

#[test]
fn records_survive_a_test_that_closes_every_descriptor() {
    let mut project = project(&six("def test_x(): os.closerange(3, 1024)"));
    // With capturing on, pytest itself has lost its files and reports errors for each later test.
    for (capture, letters) in [("no", "PPPPPP"), ("fd", "PPEEEE")] {
        project.arguments = vec![format!("--capture={capture}")];
        for executor in EXECUTORS {
            let heard = project.sweep(executor, &[vec![0, 1, 2, 3, 4, 5]]);
            assert_eq!(heard.letters(0), letters, "{executor:?} {:?}", heard.notes);
        }
    }
}

#[test]
fn a_test_that_forks_and_returns_is_counted_once() {
    let project = project(&six("def test_x(): os.fork()"));
    for executor in EXECUTORS {
        let heard = project.sweep(executor, &[vec![0, 1, 2, 3, 4, 5]]);
        assert_eq!(heard.letters(0), "PPPPPP", "{executor:?} {:?}", heard.notes);
        assert_eq!(*heard.ending(0), Ending::Completed);
        assert_no_process_with(project.scratch().to_str().unwrap());
    }
}

#[test]
fn a_sandboxed_run_leaves_the_tree_as_it_was() {
    let project = project(
        "def test_a(): open('left', 'w').write('x')\ndef test_b():\n    import os\n    assert not os.path.exists('left')",
    );
    let mut config = project.config();
    config.sandbox.mode = SandboxMode::Auto;
    let mut heard = crate::fixture::Heard::default();
    let cancel = anyorder_runner::Cancel::new().unwrap();
    let mut session = anyorder_runner::Session::start(config, &mut heard, &cancel).unwrap();
    if session.collection().sandbox.mode != "overlay" {
        assert!(session.collection().sandbox.why_not.is_some());
        return;
    }
    let (result, heard) =
        crate::fixture::sweep(&mut session, Executor::Fork, &[vec![0, 1], vec![1, 0], vec![1]]);
    result.unwrap();
    assert_eq!(
        [heard.letters(0), heard.letters(1), heard.letters(2)],
        ["PF", "PP", "P"],
        "{:?}",
        heard.notes
    );
    assert!(!project.root().join("left").exists());
}

#[test]
fn a_suite_that_cannot_be_collected_says_which_module() {
    let broken = project("import no_such_module").start();
    let Err(StartError::CollectFailed { errors }) = broken else { panic!("{broken:?}") };
    assert_eq!(errors.len(), 1);
    assert!(errors[0].0.contains("test_it.py"), "{errors:?}");
    let none = project("x = 1").start();
    assert!(matches!(none, Err(StartError::NoTests { .. })), "{none:?}");
    let usage = project("def test_a(): pass");
    let mut config = usage.config();
    config.pytest_args = vec!["--no-such-option".to_owned()];
    let cancel = anyorder_runner::Cancel::new().unwrap();
    let usage = anyorder_runner::Session::start(config, &mut crate::fixture::Heard::default(), &cancel);
    assert!(matches!(usage, Err(StartError::Broken { .. })), "{usage:?}");
}

#[test]
fn five_thousand_tests_in_many_orders_need_little_memory() {
    let mut project =
        project("import pytest\n@pytest.mark.parametrize('n', range(5000))\ndef test_n(n): pass");
    project.limit = Duration::from_secs(120);
    let mut session = project.start().unwrap();
    let forward: Vec<u32> = (0..5000).collect();
    let (result, heard) = crate::fixture::sweep(&mut session, Executor::Fork, &vec![forward.clone(); 2]);
    result.unwrap();
    assert!(heard.records.values().all(|r| r.ending == Ending::Completed));
    drop(heard);
    let before = resident();
    let mut count = Count::default();
    let mut requests = crate::fixture::requests(&session, Executor::Fork, &vec![forward; 4]).into_iter();
    session.execute(&mut requests, &mut count, &anyorder_runner::Cancel::new().unwrap()).unwrap();
    assert_eq!(count.0, 4);
    let grown = resident().saturating_sub(before);
    assert!(grown < 30 << 20, "grown by {grown} bytes");
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    let status = fs_err::read_to_string("/proc/self/statm").unwrap();
    status.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 4096
}
