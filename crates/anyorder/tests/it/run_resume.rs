//! Sweeps that are ended from outside, and resumed.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::answer::{Answer, Document};
use crate::fixture::Project;

/// Four tests of which one depends on order; each takes a little.
const TESTS: &str = r"
import time
d = []
def test_a(): time.sleep(0.05); d.append(1)
def test_b(): time.sleep(0.05); assert not d
def test_c(): time.sleep(0.05)
def test_d(): time.sleep(0.05)
";

const SWEEP: [&str; 7] = ["run", "--orders", "default,alone,seed:1..8", "--jobs", "2", "--format", "json"];

/// Reads standard error until a line holds `text`, and leaves a thread to read the rest.
fn wait_for(child: &mut Child, text: &str) -> thread::JoinHandle<String> {
    let mut reader = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "it ended before `{text}`: {seen}");
        seen.push_str(&line);
        if line.contains(text) {
            break;
        }
    }
    thread::spawn(move || {
        for line in reader.lines().map_while(Result::ok) {
            seen.push_str(&line);
            seen.push('\n');
        }
        seen
    })
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn ended(mut child: Child, rest: thread::JoinHandle<String>) -> Answer {
    let mut out = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut out).unwrap();
    let status = child.wait().unwrap();
    Answer { status: status.code(), out, err: rest.join().unwrap() }
}

fn undisturbed() -> Document {
    Project::of_tests(TESTS).anyorder(SWEEP).status(1).answer().json()
}

/// What stands in the store, as runs of orders: none twice.
#[track_caller]
fn assert_no_run_twice(project: &Project) {
    let path = project.root.join(".anyorder/anyorder.db");
    let db = rusqlite::Connection::open(path).unwrap();
    let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

#[track_caller]
fn assert_same_but_for_times(resumed: &Document, undisturbed: &Document, project: &Project) {
    let text = resumed.without_times().to_string();
    let text = text.replace(project.root.parent().unwrap().to_str().unwrap(), "[folder]");
    let other = undisturbed.without_times().to_string();
    let root = undisturbed["project"]["root"].as_str().unwrap();
    let other = other.replace(root.strip_suffix("/shop").unwrap(), "[folder]");
    assert_eq!(text, other);
}

#[test]
fn a_sweep_that_is_killed_at_any_instant_goes_on_where_it_was() {
    let expected = undisturbed();
    for instant in ["running the default order", "(3 of 10)", "(7 of 10)", "again"] {
        let project = Project::of_tests(TESTS);
        let mut child = project.anyorder(SWEEP).start();
        let rest = wait_for(&mut child, instant);
        let before = Instant::now();
        signal(&child, Signal::KILL);
        let killed = ended(child, rest);
        assert_eq!((killed.status, killed.out.as_str()), (None, ""));
        project.assert_nothing_survives();
        assert!(before.elapsed() < Duration::from_secs(5), "something lived on");
        std::fs::remove_dir_all(project.beside("scratch")).unwrap();
        std::fs::create_dir(project.beside("scratch")).unwrap();
        let answer = project.anyorder(SWEEP).args(["--resume"]).status(1).answer();
        let document = answer.json();
        let already: usize = match instant {
            "(3 of 10)" => 3,
            "(7 of 10)" => 7,
            "again" => 10,
            _ => 0,
        };
        let resumed = usize::try_from(document["resumed"].as_u64().unwrap()).unwrap();
        assert!(resumed >= already, "{instant}: {resumed} of {already} orders were kept");
        let ran = answer.err.lines().filter(|l| l.contains(" of 10)")).count();
        assert!(ran + resumed <= 10, "{instant}: {ran} ran though {resumed} were there");
        assert_same_but_for_times(&document, &expected, &project);
        assert_no_run_twice(&project);
    }
}

#[test]
fn a_run_without_resume_begins_anew() {
    let project = Project::of_tests("def test_a(): pass\ndef test_b(): pass\n");
    let sweep = ["run", "--quick", "--format", "json"];
    let first = project.anyorder(sweep).answer().json();
    let second = project.anyorder(sweep).answer().json();
    assert_eq!(second["resumed"], 0);
    assert_ne!(first["sweep"], second["sweep"]);
}

#[test]
fn nothing_is_resumed_after_the_tests_were_edited() {
    let project = Project::of_tests(TESTS);
    let mut child = project.anyorder(SWEEP).start();
    let rest = wait_for(&mut child, "(2 of 10)");
    signal(&child, Signal::KILL);
    ended(child, rest);
    project.assert_nothing_survives();
    std::fs::remove_dir_all(project.beside("scratch")).unwrap();
    std::fs::create_dir(project.beside("scratch")).unwrap();
    project.write("test_it.py", TESTS.replace("not d", "True"));
    let document = project.anyorder(SWEEP).args(["--resume"]).answer().json();
    assert_eq!(document["resumed"], 0);
}

#[test]
fn the_first_interrupt_stores_what_is_done_and_says_how_to_go_on() {
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let project = Project::of_tests(TESTS);
        let terminal = ["run", "--orders", "default,alone,seed:1..8", "--jobs", "2"];
        let mut child = project.anyorder(terminal).start();
        let rest = wait_for(&mut child, "(3 of 10)");
        signal(&child, sent);
        let answer = ended(child, rest);
        assert_eq!(answer.status, Some(code), "{answer}");
        answer.shows("incomplete").shows("anyorder run --resume");
        project.assert_nothing_survives();
        let left: Vec<_> = std::fs::read_dir(project.beside("scratch")).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
        let document = project.anyorder(SWEEP).args(["--resume"]).status(1).answer().json();
        assert!(document["resumed"].as_u64().unwrap() >= 3, "{}", document["resumed"]);
        assert_eq!(document["complete"], true);
    }
}

#[test]
fn an_interrupt_while_pytest_collects_ends_at_once() {
    let project = Project::of_tests("import time\ntime.sleep(60)\ndef test_a(): pass\n");
    let mut child = project.anyorder(["run"]).start();
    let rest = wait_for(&mut child, "collecting");
    thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    signal(&child, Signal::INT);
    let answer = ended(child, rest);
    assert_eq!(answer.status, Some(130), "{answer}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    project.assert_nothing_survives();
}

#[test]
fn the_second_interrupt_does_not_wait_for_a_test() {
    let tests = "import time\ndef test_a(): time.sleep(120)\n";
    let project = Project::of_tests(tests);
    let mut child = project.anyorder(["run", "--orders", "default"]).start();
    let rest = wait_for(&mut child, "running the default order");
    thread::sleep(Duration::from_millis(800));
    let started = Instant::now();
    signal(&child, Signal::INT);
    thread::sleep(Duration::from_millis(300));
    signal(&child, Signal::INT);
    let answer = ended(child, rest);
    assert_eq!(answer.status, Some(130), "{answer}");
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    project.assert_nothing_survives();
}

#[test]
fn a_check_that_is_killed_goes_on_where_it_was_by_itself() {
    let judge = ["check", "--seeds", "2", "--jobs", "2", "--format", "json"];
    let planted = || {
        let project = Project::of_tests(&TESTS.replace("; d.append(1)", ""));
        project.write("test_it.py", TESTS);
        project
    };
    let undisturbed = planted().anyorder(judge).status(1).answer().json();
    for instant in ["base  seed:1 ", "replaying"] {
        let project = planted();
        let mut child = project.anyorder(judge).start();
        let rest = wait_for(&mut child, instant);
        signal(&child, Signal::KILL);
        ended(child, rest);
        project.assert_nothing_survives();
        std::fs::remove_dir_all(project.beside("scratch")).unwrap();
        std::fs::create_dir(project.beside("scratch")).unwrap();
        let document = project.anyorder(judge).status(1).answer().json();
        assert!(document["resumed"].as_u64().unwrap() > 0, "{instant}");
        assert_same_but_for_times(&document, &undisturbed, &project);
    }
}
