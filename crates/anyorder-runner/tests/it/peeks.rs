//! Peeks with pytest and the real agent: tests run in children in the middle of a run.

use std::time::Duration;

use anyorder_core::model::{Ending, Executor, Order, OrderLabel, Outcome, PeekAt, TestIx};
use anyorder_runner::{Cancel, EngineError, RunRequest, Session};

use crate::fixture::{Heard, Project, assert_no_process_with};

fn request(
    session: &Session,
    run: u64,
    executor: Executor,
    order: &[u32],
    peeks: &[(usize, u32)],
) -> RunRequest {
    let tests = order.iter().copied().map(TestIx).collect();
    let len = session.collection().suite.len();
    let order = Order::partial(OrderLabel::List("peeked".to_owned()), tests, len).unwrap();
    let peeks = peeks.iter().map(|&(after, test)| PeekAt { after, test: TestIx(test) }).collect();
    RunRequest { run, order, attempt: 0, executor, peeks, imports: Vec::new() }
}

fn execute(session: &mut Session, requests: Vec<RunRequest>) -> (Result<(), EngineError>, Heard) {
    let mut heard = Heard::default();
    let asked = requests.clone();
    let result = session.execute(&mut requests.into_iter(), &mut heard, &Cancel::new().unwrap());
    for request in asked.iter().filter(|r| heard.records.contains_key(&r.run)) {
        let record = &heard.records[&request.run];
        let told: Vec<PeekAt> =
            record.peeks.iter().map(|p| PeekAt { after: p.after, test: p.result.test }).collect();
        assert_eq!(told, request.peeks, "exactly one record for each peek, in the sequence asked for");
    }
    (result, heard)
}

fn peeked(heard: &Heard, run: u64) -> String {
    heard.records[&run].peeks.iter().map(|p| p.result.outcome.letter()).collect()
}

fn project(test_file: &str) -> Project {
    let project = Project::pytest();
    project.file("test_it.py", test_file);
    project
}

const CHAIN: &str = "
state = []
def test_a(): state.append('a')
def test_b(): state.append('b')
def test_clean(): assert not state
def test_only_a(): assert state == ['a']
def test_clears(): state.clear()
def test_slow():
    import time
    time.sleep(0.2)
";

#[test]
fn a_run_is_seen_at_every_place_and_ends_as_it_would_without() {
    let project = project(CHAIN);
    let mut session = project.start().unwrap();
    let peeks = [(0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (3, 2), (3, 0), (1, 5)];
    let requests = vec![
        request(&session, 0, Executor::Fork, &[0, 1, 4, 2], &[]),
        request(&session, 1, Executor::Fork, &[0, 1, 4, 2], &peeks),
    ];
    let (result, heard) = execute(&mut session, requests);
    result.unwrap();
    assert_eq!([heard.letters(0), heard.letters(1)], ["PPPP", "PPPP"], "{:?}", heard.notes);
    assert_eq!(*heard.ending(1), Ending::Completed);
    assert_eq!(peeked(&heard, 1), "PFFPFPPP", "{:?}", heard.notes);
    let record = &heard.records[&1];
    let failure = record.peeks[1].result.failure.as_ref().unwrap();
    assert!(failure.signature.0.starts_with("AssertionError @ test_it.py:"), "{failure:?}");
    assert!(record.peeks[7].result.duration >= Duration::from_millis(200));
    assert!(record.results[0].duration < Duration::from_millis(150), "{:?}", record.results[0]);
}

#[test]
fn a_row_of_the_matrix_is_one_run_and_an_empty_order_is_each_test_alone() {
    let project = project(CHAIN);
    let mut session = project.start().unwrap();
    let row: Vec<(usize, u32)> = (0..5).map(|v| (1, v)).collect();
    let alone: Vec<(usize, u32)> = (0..5).map(|v| (0, v)).collect();
    let requests = vec![
        request(&session, 0, Executor::Fork, &[0], &row),
        request(&session, 1, Executor::Fork, &[], &alone),
    ];
    let (result, heard) = execute(&mut session, requests);
    result.unwrap();
    assert_eq!([peeked(&heard, 0), peeked(&heard, 1)], ["PPFPP", "PPPFP"], "{:?}", heard.notes);
    assert_eq!(*heard.ending(1), Ending::Completed);
}

const ENDINGS: &str = "
import os, pytest, time
def test_a(): pass
def test_b(): pass
def test_killed(): os.kill(os.getpid(), 9)
def test_leaves(): os._exit(0)
def test_hangs(): time.sleep(1000)
def test_kills_the_run(): os.kill(os.getppid(), 9); time.sleep(1000)
@pytest.fixture
def f():
    yield
    os._exit(3)
def test_dies_late(f): pass
";

#[test]
fn a_peek_that_dies_or_hangs_ends_alone() {
    let mut project = project(ENDINGS);
    project.limit = Duration::from_secs(3);
    project.grace = Duration::from_millis(500);
    let mut session = project.start().unwrap();
    let peeks = [(0, 0), (1, 2), (1, 3), (1, 4), (1, 6), (2, 1)];
    let requests = vec![request(&session, 0, Executor::Fork, &[0, 1], &peeks)];
    let (result, heard) = execute(&mut session, requests);
    result.unwrap();
    assert_eq!(heard.letters(0), "PP");
    assert_eq!(*heard.ending(0), Ending::Completed, "{:?}", heard.notes);
    assert_eq!(peeked(&heard, 0), "PCCTCP", "{:?}", heard.notes);
    let failure = |at: usize| heard.records[&0].peeks[at].result.failure.clone().unwrap();
    assert_eq!(&*failure(1).signature.0, "killed by signal 9");
    assert_eq!(&*failure(2).signature.0, "exited 0 before the end");
    let text = failure(3).text;
    assert!(format!("{}{}", text.head, text.tail).contains("in test_hangs"), "{text:?}");
    assert_no_process_with(project.root().to_str().unwrap());
}

#[test]
fn peeks_of_a_run_that_ended_first_are_absent() {
    let project = project(ENDINGS);
    let mut session = project.start().unwrap();
    let requests = vec![
        request(&session, 0, Executor::Fork, &[0, 3, 1], &[(1, 1), (2, 1), (3, 1)]),
        request(&session, 1, Executor::Fork, &[0, 1], &[(0, 1), (1, 5), (2, 1)]),
    ];
    let (result, heard) = execute(&mut session, requests);
    result.unwrap();
    assert_eq!((heard.letters(0), peeked(&heard, 0)), ("PC-".to_owned(), "P--".to_owned()));
    // The peek killed the run, so that both died.
    assert_eq!(peeked(&heard, 1), "PC-", "{:?}", heard.notes);
    assert!(matches!(heard.ending(1), Ending::Crashed { .. }));
}

#[test]
fn a_peek_whose_run_is_out_of_time_is_out_of_time() {
    let project = project(ENDINGS);
    let mut config = project.config();
    config.limits.run = Some(Duration::from_secs(3));
    config.limits.grace = Duration::from_millis(300);
    let mut session = Session::start(config, &mut Heard::default(), &Cancel::new().unwrap()).unwrap();
    let requests = vec![request(&session, 0, Executor::Fork, &[0, 1], &[(1, 4), (2, 1)])];
    let (result, heard) = execute(&mut session, requests);
    result.unwrap();
    assert!(matches!(heard.ending(0), Ending::TimedOut { .. }), "{:?}", heard.ending(0));
    assert_eq!(peeked(&heard, 0), "T-");
    assert_eq!(heard.outcome(0, 1), Outcome::Absent);
    drop(session);
    assert_no_process_with(project.root().to_str().unwrap());
}

#[test]
fn peeks_that_cannot_be_are_refused_by_name() {
    let project = project(CHAIN);
    let mut session = project.start().unwrap();
    let fresh = vec![request(&session, 4, Executor::Fresh, &[0], &[(1, 1)])];
    let (result, _) = execute(&mut session, fresh);
    assert!(matches!(result, Err(EngineError::PeeksNeedFork { run: 4 })), "{result:?}");
    for peek in [(2, 1), (0, 99)] {
        let odd = vec![request(&session, 5, Executor::Fork, &[0], &[peek])];
        let (result, _) = execute(&mut session, odd);
        assert!(matches!(result, Err(EngineError::NoSuchPeek { run: 5, .. })), "{result:?}");
    }
}

#[test]
fn modules_are_imported_first_and_a_failure_is_an_ending() {
    let project = project("import os\ndef test_a(): assert 'POLLUTED' not in os.environ\n");
    project.file("polluting.py", "import os\nos.environ['POLLUTED'] = 'x'\n");
    project.file("failing.py", "raise LookupError('at import')\n");
    let mut session = project.start().unwrap();
    for executor in [Executor::Fork, Executor::Fresh] {
        let with = |imports: &[&str], run, session: &Session| {
            let mut request = request(session, run, executor, &[0], &[]);
            request.imports = imports.iter().map(|m| (*m).to_owned()).collect();
            request
        };
        let requests = vec![
            with(&[], 0, &session),
            with(&["polluting"], 1, &session),
            with(&["polluting", "failing"], 2, &session),
        ];
        let (result, heard) = execute(&mut session, requests);
        result.unwrap();
        assert_eq!([heard.letters(0), heard.letters(1), heard.letters(2)], ["P", "F", "-"], "{executor:?}");
        let how = "cannot import `failing`: LookupError: at import".to_owned();
        assert_eq!(*heard.ending(2), Ending::Crashed { culprit: None, how }, "{executor:?}");
    }
}

const POLLUTING: &str = "
import os, pathlib, tempfile, pytest
HERE = pathlib.Path(__file__).parent
TEMPORARY = lambda: pathlib.Path(tempfile.gettempdir())
@pytest.fixture(scope='module')
def shared(): return []
def test_env(): os.environ['LEFT'] = 'x'
def test_env_is_clean(): assert 'LEFT' not in os.environ
def test_tree(): (HERE / 'left').write_text('x')
def test_tree_is_clean(): assert not (HERE / 'left').exists()
def test_temporary(): (TEMPORARY() / 'left').write_text('x')
def test_temporary_is_clean(): assert not (TEMPORARY() / 'left').exists()
def test_fills(shared): shared.append(1)
def test_is_empty(shared): assert not shared
";

#[test]
#[cfg(target_os = "linux")]
fn rows_of_a_matrix_side_by_side_are_what_their_sequences_are() {
    let project = project(POLLUTING);
    let mut config = project.config();
    config.sandbox.mode = anyorder_runner::SandboxMode::Overlay;
    let mut session = match Session::start(config, &mut Heard::default(), &Cancel::new().unwrap()) {
        Err(anyorder_runner::StartError::Sandbox { .. }) => return, // no namespaces here
        other => other.unwrap(),
    };
    let victims = |p: u32| (0..8_u32).filter(move |v| *v != p);
    let mut requests = Vec::new();
    for p in 0..8_u32 {
        let row: Vec<(usize, u32)> = victims(p).map(|v| (1, v)).collect();
        requests.push(request(&session, u64::from(p), Executor::Fork, &[p], &row));
        for v in victims(p) {
            requests.push(request(&session, u64::from(100 + 10 * p + v), Executor::Fork, &[p, v], &[]));
        }
    }
    let (result, heard) = execute(&mut session, requests);
    result.unwrap();
    let mut failing = Vec::new();
    for p in 0..8_u32 {
        let sequences: String =
            victims(p).map(|v| heard.outcome(u64::from(100 + 10 * p + v), v).letter()).collect();
        assert_eq!(peeked(&heard, u64::from(p)), sequences, "after test {p}: {:?}", heard.notes);
        let polluted = heard.records[&u64::from(p)].peeks.iter().filter(|k| !k.result.outcome.passed());
        failing.extend(polluted.map(|k| (p, k.result.test.0)));
    }
    assert_eq!(failing, [(0, 1), (2, 3), (4, 5), (6, 7)]);
    assert!(!project.root().join("left").exists());
}
