//! Tests that misbehave (PROMISES section 2.1), with the stand-in: test X stands third of six.

use std::time::Duration;

use anyorder_core::model::{Ending, Executor, Outcome, Phase, TestIx};

use crate::fixture::{Heard, Project, assert_no_process_with};

const EXECUTORS: [Executor; 2] = [Executor::Fork, Executor::Fresh];

/// Six tests, the third of which does this.
fn with_x(body: &str) -> Project {
    Project::fake(&format!(
        "
import os, signal, subprocess, sys, time
def test_a(): pass
def test_b(): pass
def test_x():
{}
def test_c(): pass
def test_d(): pass
def test_e(): pass
",
        body.trim_matches('\n').lines().map(|l| ["    ", l, "\n"].concat()).collect::<String>()
    ))
}

/// Runs it in two orders, with X third and with X last.
fn run(project: &Project, executor: Executor) -> Heard {
    project.sweep(executor, &[vec![0, 1, 2, 3, 4, 5], vec![5, 4, 3, 1, 0, 2]])
}

fn assert_crashed(body: &str, how: &str) {
    for executor in EXECUTORS {
        let project = with_x(body);
        let heard = run(&project, executor);
        assert_eq!([heard.letters(0), heard.letters(1)], ["PPC---", "PPPPPC"], "{body} {executor:?}");
        for run in [0, 1] {
            let expected = Ending::Crashed { culprit: Some(TestIx(2)), how: how.to_owned() };
            assert_eq!(*heard.ending(run), expected, "{body} {executor:?}");
        }
        let failure = heard.records[&0].results[2].failure.clone().unwrap();
        assert_eq!((failure.phase, &*failure.signature.0), (Phase::Call, how));
        drop(heard);
        assert_no_process_with(project.root().to_str().unwrap());
    }
}

#[test]
fn a_test_that_dies_is_the_culprit_whatever_its_exit_says() {
    assert_crashed("os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9");
    assert_crashed("os.abort()", "killed by signal 6");
    assert_crashed("os._exit(0)", "exited 0 before the end");
    assert_crashed("os._exit(3)", "exited 3 before the end");
    assert_crashed("os.execv('/bin/true', ['true'])", "exited 0 before the end");
}

#[test]
fn a_test_that_hangs_is_a_timeout_even_if_it_ends_well_after_the_signal() {
    let bodies = [
        "time.sleep(100)",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(100)",
        "signal.signal(signal.SIGTERM, lambda *_: os._exit(0)); time.sleep(100)",
        "signal.signal(signal.SIGTERM, lambda *_: None); signal.pause()",
        "os.kill(os.getpid(), signal.SIGSTOP)",
    ];
    for body in bodies {
        for executor in EXECUTORS {
            let mut project = with_x(body);
            project.limit = Duration::from_millis(1500);
            project.grace = Duration::from_millis(300);
            let began = std::time::Instant::now();
            let heard = run(&project, executor);
            assert!(began.elapsed() < Duration::from_secs(20), "{body}");
            assert_eq!([heard.letters(0), heard.letters(1)], ["PPT---", "PPPPPT"], "{body} {executor:?}");
            assert_eq!(*heard.ending(0), Ending::TimedOut { culprit: Some(TestIx(2)) });
            assert_no_process_with(project.root().to_str().unwrap());
        }
    }
}

#[test]
fn a_closed_or_replaced_channel_is_opened_again() {
    for body in ["os.closerange(3, 256)", "d = os.open('/dev/null', os.O_RDWR); os.dup2(d, CHANNEL.fd)"] {
        for executor in EXECUTORS {
            let project = with_x(body);
            let heard = run(&project, executor);
            // A main process whose own wake-up pipe is closed may fail afterwards; its records are whole.
            assert_eq!([heard.letters(0), heard.letters(1)], ["PPPPPP", "PPPPPP"], "{body} {executor:?}");
            assert_eq!(*heard.ending(0), Ending::Completed, "{:?}", heard.notes);
        }
    }
}

#[test]
fn a_forged_record_is_never_a_clean_one() {
    let forged = "
import json
os.write(CHANNEL.fd, (json.dumps([CHANNEL.n, 't', 1]) + '\\n').encode())
os.write(CHANNEL.fd, (json.dumps([CHANNEL.n + 1, 'e', 2, 2, 'P', 1]) + '\\n').encode())
assert False
";
    for executor in EXECUTORS {
        let heard = run(&with_x(forged), executor);
        for run in [0, 1] {
            assert!(
                matches!(heard.ending(run), Ending::Crashed { culprit: Some(TestIx(2)), .. }),
                "{:?}",
                heard.ending(run)
            );
            assert_eq!(heard.outcome(run, 2), Outcome::Crashed);
        }
        assert!(heard.noted("no records"), "{:?}", heard.notes);
    }
}

#[test]
fn garbage_on_the_channel_costs_at_most_the_test_that_wrote_it() {
    for executor in EXECUTORS {
        let lines = run(&with_x("os.write(CHANNEL.fd, b'garbage\\n[1,2]\\n{}\\n')"), executor);
        assert_eq!(lines.letters(0), "PPPPPP");
        assert_eq!(*lines.ending(0), Ending::Completed);
        assert!(lines.noted("no records"));
        let torn = run(&with_x("os.write(CHANNEL.fd, b'torn')"), executor);
        assert_eq!(torn.letters(0), "PPC---");
        let how = "its record channel was damaged".to_owned();
        assert_eq!(*torn.ending(0), Ending::Crashed { culprit: Some(TestIx(2)), how });
    }
}

#[test]
fn a_stranger_cannot_speak_for_a_run() {
    let stranger = "
import json, socket
def tell(**hello):
    s = socket.socket(socket.AF_UNIX)
    s.connect(CONFIG['socket'])
    s.sendall((json.dumps(hello) + '\\n[1,\"end\",%d,0,{}]\\n' % os.getpid()).encode())
import __main__
CONFIG = __main__.CONFIG
tell(n=0, t='hello', token='wrong', role='run', run=RUN, pid=os.getpid())
tell(n=0, t='hello', token=CONFIG['token'], role='run', run=RUN, pid=os.getpid())
tell(n=0, t='hello', token=CONFIG['token'], role='run', run=RUN, pid=1)
tell(n=0, t='hello', token=CONFIG['token'], role='main', pid=os.getpid())
if os.fork() == 0:
    tell(n=CHANNEL.n, t='hello', token=CONFIG['token'], role='run', run=RUN, pid=os.getpid(), again=True)
    os._exit(0)
os.wait()
";
    let heard = run(&with_x(stranger), Executor::Fork);
    assert_eq!([heard.letters(0), heard.letters(1)], ["PPPPPP", "PPPPPP"]);
    assert_eq!(*heard.ending(0), Ending::Completed);
    assert!(heard.noted("does not know the secret"), "{:?}", heard.notes);
    assert!(heard.noted("connected already"));
    assert!(heard.noted("another process than it says"));
    assert!(heard.noted("not the child of its run"));
}

#[test]
fn an_order_that_was_not_kept_is_said_to_be_so() {
    let project = Project::fake(
        "reorder = lambda order: sorted(order)\ndef test_a(): pass\ndef test_b(): pass\ndef test_c(): pass",
    );
    for executor in EXECUTORS {
        let heard = project.sweep(executor, &[vec![0, 2, 1], vec![0, 1, 2]]);
        assert_eq!(*heard.ending(0), Ending::OutOfOrder { position: 1 });
        assert_eq!(*heard.ending(1), Ending::Completed);
    }
}

#[test]
fn what_a_test_leaves_running_is_ended() {
    let daemon = "
subprocess.Popen(['sleep', '1001'])
subprocess.Popen(['sleep', '1002'], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execvp('sleep', ['sleep', '1003'])
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1004)
    os._exit(0)
time.sleep(0.2)
";
    for executor in EXECUTORS {
        let project = with_x(daemon);
        let heard = run(&project, executor);
        assert_eq!([heard.letters(0), heard.letters(1)], ["PPPPPP", "PPPPPP"]);
        for seconds in ["1001", "1002", "1003"] {
            assert_no_process_with(&format!("sleep\0{seconds}"));
        }
        assert_no_process_with(project.root().to_str().unwrap());
        assert!(heard.noted("left a process behind"), "{executor:?}: {:?}", heard.notes);
    }
}

#[test]
fn runs_of_a_killed_template_start_over_and_the_killer_is_known() {
    let mut project = with_x("os.kill(os.getppid(), signal.SIGKILL); time.sleep(100)");
    project.jobs = 3;
    let kills = vec![0, 1, 2, 3];
    let heard = project.sweep(Executor::Fork, &[vec![0, 1, 3], kills.clone(), vec![4, 5], kills, vec![1, 0]]);
    for run in [0, 2, 4] {
        assert_eq!(*heard.ending(run), Ending::Completed, "{:?}", heard.notes);
    }
    for run in [1, 3] {
        assert_eq!(heard.letters(run), "PPC-");
        assert!(matches!(heard.ending(run), Ending::Crashed { culprit: Some(TestIx(2)), .. }));
    }
    assert!(heard.noted("starts over"), "{:?}", heard.notes);
    assert_no_process_with(project.root().to_str().unwrap());
}

#[test]
fn interpreters_that_always_die_end_the_sweep() {
    let mut project = with_x("os.kill(os.getppid(), signal.SIGKILL); time.sleep(100)");
    project.jobs = 1;
    let mut session = project.start().unwrap();
    let (result, heard) = crate::fixture::sweep(&mut session, Executor::Fork, &vec![vec![2]; 10]);
    assert!(matches!(result, Err(anyorder_runner::EngineError::CrashLoop { deaths: 4, .. })), "{result:?}");
    assert!(heard.records.len() < 10);
}

#[test]
fn a_refused_fork_is_tried_again() {
    let project = Project::fake(
        "
tries = []
def no_fork(run):
    tries.append(run)
    return len(tries) in (2, 3)
def test_a(): pass
",
    );
    let heard = project.sweep(Executor::Fork, &[vec![0], vec![0], vec![0], vec![0]]);
    assert!((0..4).all(|run| heard.letters(run) == "P"), "{:?}", heard.notes);
    assert!(heard.noted("could not be forked"));
}

#[test]
fn endless_output_is_cut_and_costs_no_record() {
    for executor in EXECUTORS {
        let project = with_x("for _ in range(200): os.write(1, b'x' * 65536)");
        let heard = run(&project, executor);
        assert_eq!([heard.letters(0), heard.letters(1)], ["PPPPPP", "PPPPPP"]);
    }
}

#[test]
fn a_collection_that_differs_leaves_tests_absent() {
    let project = Project::fake(
        "
import os
def test_a(): pass
if '-' not in os.environ['ANYORDER_RUN']:
    def test_b(): pass
def test_c(): pass
",
    );
    let heard = project.sweep(Executor::Fresh, &[vec![0, 1, 2]]);
    assert_eq!(heard.letters(0), "PP-");
    assert_eq!(heard.outcome(0, 1), Outcome::Absent);
    assert_eq!(*heard.ending(0), Ending::OutOfOrder { position: 1 });
    assert!(heard.noted("1 tests fewer"), "{:?}", heard.notes);
}

#[test]
fn a_flood_of_connections_is_borne() {
    let flood = "
import socket, __main__
held = []
for n in range(400):
    s = socket.socket(socket.AF_UNIX)
    s.connect(__main__.CONFIG['socket'])
    if n % 2: s.send(b'nonsense\\n')
    held.append(s)
";
    for executor in EXECUTORS {
        let heard = run(&with_x(flood), executor);
        assert_eq!(
            [heard.letters(0), heard.letters(1)],
            ["PPPPPP", "PPPPPP"],
            "{executor:?} {:?} {:?}",
            heard.notes,
            heard.ending(0)
        );
        assert_eq!(heard.notes.len(), 1, "{:?}", heard.notes);
    }
}

#[test]
fn a_run_that_takes_too_long_is_ended_though_each_test_is_quick() {
    let project = Project::fake("import time\ndef test_a(): time.sleep(1)\ndef test_b(): time.sleep(60)");
    for executor in EXECUTORS {
        let mut config = project.config();
        config.limits.run = Some(Duration::from_secs(4));
        let cancel = anyorder_runner::Cancel::new().unwrap();
        let mut session = anyorder_runner::Session::start(config, &mut Heard::default(), &cancel).unwrap();
        let (result, heard) = crate::fixture::sweep(&mut session, executor, &[vec![0, 1]]);
        result.unwrap();
        assert_eq!(heard.letters(0), "PT");
        assert_eq!(*heard.ending(0), Ending::TimedOut { culprit: Some(TestIx(1)) });
    }
}
