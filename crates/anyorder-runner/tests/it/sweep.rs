//! What a sweep does when everything goes well, with the stand-in.

use anyorder_core::model::{Ending, Executor, TestIx};
use anyorder_runner::{Cancel, EngineError, RunRequest, RunSource, StartError, Urgency};

use crate::fixture::{Heard, Project, requests, sweep};

const STATE: &str = "
state = []
def test_a(): state.append('a')
def test_b(): assert 'a' not in state
def test_c(): raise Skip
";

#[test]
fn both_executors_give_the_same_outcomes() {
    let project = Project::fake(STATE);
    let orders = [vec![0, 1, 2], vec![2, 1, 0], vec![1], vec![1, 0], vec![]];
    for executor in [Executor::Fork, Executor::Fresh] {
        let heard = project.sweep(executor, &orders);
        let letters: Vec<String> = (0..5).map(|run| heard.letters(run)).collect();
        assert_eq!(letters, ["PFs", "sPP", "P", "PP", ""], "{executor:?}");
        assert!((0..5).all(|run| *heard.ending(run) == Ending::Completed), "{executor:?}: {:?}", heard.notes);
        let failure = heard.records[&0].results[1].failure.clone().unwrap();
        assert_eq!(&*failure.signature.0, "AssertionError");
        assert_eq!(heard.notes, [""; 0], "{executor:?}");
    }
}

#[test]
fn nothing_of_a_session_stays_behind() {
    let project = Project::fake(STATE);
    project.sweep(Executor::Fork, &[vec![0, 1, 2]]);
    assert_eq!(fs_err::read_dir(project.scratch()).unwrap().count(), 0);
    crate::fixture::assert_no_process_with(project.root().to_str().unwrap());
}

#[test]
fn a_run_knows_its_number_slot_and_tree() {
    let project = Project::fake(
        "
import os
seen = os.environ.get('ANYORDER_SLOT')
def test_a():
    assert os.environ['ANYORDER_RUN'].endswith('-%d' % RUN)
    assert os.environ['ANYORDER_SLOT'] in '01' and os.environ['ANYORDER_TREE'] == 'base'
    assert os.environ['PYTHONHASHSEED'] == '0' and os.environ['PYTHONDONTWRITEBYTECODE']
",
    );
    for executor in [Executor::Fork, Executor::Fresh] {
        let heard = project.sweep(executor, &[vec![0], vec![0], vec![0]]);
        assert_eq!([heard.letters(0), heard.letters(1), heard.letters(2)], ["P", "P", "P"]);
    }
}

#[test]
fn where_fork_is_refused_it_says_why_and_fresh_serves() {
    let project = Project::fake("fork = {'safe': False, 'why': ['a thread']}\ndef test_a(): pass");
    let mut session = project.start().unwrap();
    assert_eq!(session.collection().fork_refused, ["a thread"]);
    let (result, _) = sweep(&mut session, Executor::Fork, &[vec![0]]);
    assert!(matches!(result, Err(EngineError::ForkRefused { run: 0 })), "{result:?}");
    let (result, heard) = sweep(&mut session, Executor::Fresh, &[vec![0], vec![0]]);
    result.unwrap();
    assert_eq!([heard.letters(0), heard.letters(1)], ["P", "P"]);
}

#[test]
fn what_to_run_next_may_depend_on_what_came_out() {
    struct Bisect {
        ready: Vec<RunRequest>,
        later: Vec<RunRequest>,
        asked: usize,
    }
    impl RunSource for Bisect {
        fn next_run(&mut self) -> Option<RunRequest> {
            self.asked += 1;
            if self.asked == 3 {
                // Asked once more because the first run has finished by now.
                self.ready.append(&mut self.later);
            }
            self.ready.pop()
        }
    }
    let project = Project::fake(STATE);
    let mut session = project.start().unwrap();
    let mut all = requests(&session, Executor::Fork, &[vec![0], vec![1]]);
    let later = vec![all.pop().unwrap()];
    let mut heard = Heard::default();
    let mut source = Bisect { ready: all, later, asked: 0 };
    session.execute(&mut source, &mut heard, &Cancel::new().unwrap()).unwrap();
    assert_eq!(heard.records.len(), 2);
}

#[test]
fn a_suite_that_cannot_start_says_why() {
    let none = Project::fake("x = 1").start();
    assert!(matches!(none, Err(StartError::NoTests { .. })), "{none:?}");
    let broken = Project::fake("import sys\nprint('last words', flush=True)\nsys.exit(7)").start();
    let Err(StartError::Died { how, output }) = broken else { panic!("{broken:?}") };
    assert_eq!(how, "exited 7 before the end");
    assert!(output.0.head.contains("last words"), "{output:?}");
    let mut config = Project::fake(STATE).config();
    config.python = "/nonexistent/python".into();
    config.scratch = std::env::temp_dir();
    config.cwd = "/".into();
    let missing = anyorder_runner::Session::start(config, &mut Heard::default(), &Cancel::new().unwrap());
    assert!(matches!(missing, Err(StartError::NoInterpreter { .. })), "{missing:?}");
    let mut slow = Project::fake("import time; time.sleep(100)");
    slow.limit = std::time::Duration::from_millis(300);
    let slow = slow.start();
    assert!(matches!(slow, Err(StartError::TimedOut { .. })), "{slow:?}");
}

#[test]
fn a_stopped_sweep_leaves_interrupted_records_and_starts_nothing_more() {
    let project = Project::fake("import time\ndef test_a(): time.sleep(100)\ndef test_b(): pass");
    for executor in [Executor::Fork, Executor::Fresh] {
        let mut session = project.start().unwrap();
        let cancel = Cancel::new().unwrap();
        let remote = cancel.clone();
        let later = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(700));
            remote.stop();
        });
        let mut heard = Heard::default();
        let requests = requests(&session, executor, &vec![vec![1, 0]; 6]);
        let began = std::time::Instant::now();
        session.execute(&mut requests.into_iter(), &mut heard, &cancel).unwrap();
        later.join().unwrap();
        assert!(began.elapsed().as_secs() < 10);
        assert_eq!(cancel.urgency(), Urgency::Stop);
        assert_eq!(heard.records.len(), 2);
        for record in heard.records.values() {
            assert_eq!(record.ending, Ending::Interrupted);
            assert_eq!(record.results.last().unwrap().test, TestIx(0));
        }
    }
}

#[test]
fn a_listener_can_stop_the_sweep() {
    let project = Project::fake(STATE);
    let mut session = project.start().unwrap();
    let stop_at: fn(&anyorder_runner::Event<'_>) -> bool =
        |e| matches!(e, anyorder_runner::Event::RunFinished { .. });
    let mut heard = Heard { stop_at: Some(stop_at), ..Heard::default() };
    let requests = requests(&session, Executor::Fork, &vec![vec![0]; 50]);
    session.execute(&mut requests.into_iter(), &mut heard, &Cancel::new().unwrap()).unwrap();
    assert!(heard.records.len() < 6, "{} runs", heard.records.len());
}

#[test]
fn a_large_suite_in_many_orders_comes_out_whole() {
    let suite = (0..3000).map(|n| format!("def test_{n}(): pass")).collect::<Vec<_>>().join("\n");
    let project = Project::fake(&suite);
    let forward: Vec<u32> = (0..3000).collect();
    let backward: Vec<u32> = (0..3000).rev().collect();
    let heard = project.sweep(Executor::Fork, &[forward.clone(), backward.clone(), forward, backward]);
    for record in heard.records.values() {
        assert_eq!(record.ending, Ending::Completed);
        let executed: Vec<TestIx> = record.results.iter().map(|r| r.test).collect();
        assert_eq!(executed, record.order.tests());
    }
}
