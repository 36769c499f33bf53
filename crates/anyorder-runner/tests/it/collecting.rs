//! What collection tells, how much of the suite is collected, and what is kept apart between runs.

use std::time::Duration;

use anyorder_core::model::{Ending, Executor, TestIx};
use anyorder_runner::{Cancel, SandboxMode, Session, StartError};

use crate::fixture::{Heard, Project, sweep};

const EXECUTORS: [Executor; 2] = [Executor::Fork, Executor::Fresh];

#[test]
fn what_each_test_file_imports_is_told() {
    let project = Project::pytest();
    project.file("shop/__init__.py", "");
    project.file("shop/prices.py", "");
    project.file("test_a.py", "import shop.prices\ndef test_a(): pass\n");
    project.file("test_b.py", "import shop.prices\ndef test_b(): pass\n");
    let session = project.start().unwrap();
    let mut imports = session.collection().imports.clone();
    for (_, modules) in &mut imports {
        modules.sort();
    }
    let of = |file: &str, modules: &[&str]| {
        (file.to_owned(), modules.iter().map(|m| (*m).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(imports, [of("test_a.py", &["shop", "shop.prices", "test_a"]), of("test_b.py", &["test_b"])]);
}

#[test]
fn a_session_of_some_files_collects_only_those() {
    let mut project = Project::pytest();
    for name in ["a", "b", "c"] {
        project.file(&format!("tests/test_{name}.py"), "def test_x(): pass\ndef test_y(): pass\n");
    }
    project.arguments = vec!["tests".to_owned(), "-k".to_owned(), "test_x".to_owned()];
    let start = |only: &str| {
        let mut config = project.config();
        config.only = Some(vec![only.to_owned()]);
        Session::start(config, &mut Heard::default(), &Cancel::new().unwrap())
    };
    let mut session = start("tests/test_b.py").unwrap();
    let suite = &session.collection().suite;
    assert_eq!((suite.len(), suite.id(TestIx(0)).raw()), (1, "tests/test_b.py::test_x"));
    for executor in EXECUTORS {
        let (result, heard) = sweep(&mut session, executor, &[vec![0]]);
        result.unwrap();
        assert_eq!(heard.letters(0), "P");
    }
    assert!(matches!(start("tests/test_none.py"), Err(StartError::Broken { .. })));
}

#[test]
fn a_conftest_that_cannot_be_imported_is_a_collection_error_with_its_traceback() {
    let project = Project::pytest();
    project.file("conftest.py", "import no_such_module\n");
    project.file("test_a.py", "def test_a(): pass\n");
    let Err(StartError::CollectFailed { errors }) = project.start() else { panic!("it was collected") };
    assert_eq!(errors[0].0, "conftest.py");
    assert!(errors[0].1.0.head.contains("import no_such_module"), "{errors:?}");
}

#[test]
fn the_time_of_a_run_is_that_of_its_tests() {
    let project = Project::pytest();
    project.file("conftest.py", "import time\ntime.sleep(1.5)\ndef pytest_unconfigure(): time.sleep(1.5)\n");
    project.file("test_a.py", "import time\ndef test_a(): time.sleep(0.3)\n");
    let mut session = project.start().unwrap();
    for executor in EXECUTORS {
        // The first fresh run may find an interpreter that is there already.
        let (result, heard) = sweep(&mut session, executor, &[vec![0], vec![0]]);
        result.unwrap();
        for record in heard.records.values() {
            assert_eq!(record.ending, Ending::Completed);
            assert!(record.wall >= Duration::from_millis(300), "{executor:?} {:?}", record.wall);
            assert!(record.wall < Duration::from_millis(1400), "{executor:?} {:?}", record.wall);
        }
    }
}

#[test]
fn a_test_that_hangs_tells_where_it_stood() {
    let mut project = Project::pytest();
    project
        .file("test_a.py", "import time\ndef stands_here(): time.sleep(1000)\ndef test_a(): stands_here()\n");
    project.limit = Duration::from_secs(3);
    let mut session = project.start().unwrap();
    for executor in EXECUTORS {
        let (result, heard) = sweep(&mut session, executor, &[vec![0]]);
        result.unwrap();
        assert_eq!(heard.letters(0), "T", "{executor:?}");
        let text = &heard.records[&0].results[0].failure.as_ref().unwrap().text;
        let text = format!("{}{}", text.head, text.tail);
        assert!(text.contains("in stands_here"), "{executor:?} {text}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_socket_fits_below_a_temporary_folder_however_deep_the_scratch_is() {
    let project = Project::pytest();
    project.file(
        "test_a.py",
        "
import os, socket
def test_a(tmp_path):
    with socket.socket(socket.AF_UNIX) as server: server.bind(str(tmp_path / 'socket'))
    (tmp_path.parent.parent / 'left').write_text('x')
def test_b(tmp_path): assert not (tmp_path.parent.parent / 'left').exists()
",
    );
    let mut config = project.config();
    config.sandbox.mode = SandboxMode::Overlay;
    config.scratch = project.scratch().join("d".repeat(90));
    fs_err::create_dir(&config.scratch).unwrap();
    let mut session = match Session::start(config, &mut Heard::default(), &Cancel::new().unwrap()) {
        Err(StartError::Sandbox { .. }) => return, // no namespaces here
        other => other.unwrap(),
    };
    for executor in EXECUTORS {
        let (result, heard) = sweep(&mut session, executor, &[vec![0], vec![1]]);
        result.unwrap();
        let failures: Vec<_> = heard.records.values().map(|r| r.results[0].failure.clone()).collect();
        assert_eq!([heard.letters(0), heard.letters(1)], ["P", "P"], "{executor:?} {failures:?}");
    }
}
